import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { Webhook } from "standardwebhooks";
import type { Peer } from "#contract/ask.ts";
import { postNotice, type Notice } from "#events/model/notice.ts";
import { readCeiling } from "#crud/upstream/network-rules.ts";
import { statement, type Database } from "#store/database.ts";
import { silentLog } from "#telemetry/log.ts";
import { createMetrics } from "#telemetry/metrics.ts";
import { cleanUp } from "#testing/clean-up.ts";
import { forEachDatabase, testDatabase } from "#testing/database.ts";
import { hookReceiver, mailServer, type TakenMail } from "#testing/receivers.ts";
import { selfSigned } from "#testing/self-signed.ts";
import { until } from "#testing/until.ts";
import { channelShape } from "./channel-document.ts";
import { createNotifications, type NotificationsContext } from "./notifications.ts";
import { createPlacedChannels } from "./placed-channels.ts";
import { wantsMail } from "./serve-choice.ts";

const KEY = `whsec_${Buffer.alloc(32, 7).toString("base64")}`;
const LOOPBACK = ["127.0.0.0/8"];

interface OutboxRow {
  readonly sink: string;
  readonly key: string;
  readonly attempts: number;
  readonly sent: boolean;
  readonly dead: boolean;
  readonly error: string | null;
}
const ROWS = statement<OutboxRow>(
  "test.notification_rows",
  `select sink, key, attempts, sent_at is not null as sent, dead_at is not null as dead, error from events.outbox where sink <> 'kafka' order by seq`,
);

const notice: Notice = {
  kind: "task",
  id: "task_1",
  tenant: "tenant:acme",
  title: "Offboard e1 & <https://evil.example|co>",
  from: "person:ben",
  href: "/tasks/task_1",
  recipients: ["person:cleo"],
};

interface Person {
  readonly id: string;
  readonly name: string;
  readonly email: string | null;
}
const people: readonly Person[] = [
  { id: "person:ben", name: "Ben", email: "ben@acme.test" },
  { id: "person:cleo", name: "Cleo", email: "cleo@acme.test" },
  { id: "person:dan", name: "Dan", email: null },
];

/** Deliveries over a database, with doubles of the graph and the secrets. */
const world = async (t: TestContext, database: Database, more: Partial<NotificationsContext> = {}) => {
  const channels = createPlacedChannels();
  const members = new Map<string, readonly Person[]>(people.map((one) => [one.id, [one]]));
  const secrets = new Map<string, string>([["yaml://secret/hooks#key", KEY]]);
  const settled = new Set<string>();
  const asked: { secret: string; tenant: string | null }[] = [];
  const state = { isGraphDown: false };
  const membership: Peer = async (request) => {
    if (state.isGraphDown) return Response.json({ code: "graph_unavailable", status: 503, title: "away" }, { status: 503 });
    const { ids } = (await request.json()) as { ids: string[] };
    const found = new Map(ids.flatMap((id) => members.get(id) ?? []).map((person) => [person.id, person]));
    return Response.json({ contacts: [...found.values()].slice(0, 101) });
  };
  const secretsPeer: Peer = async (request) => {
    const uri = new URL(request.url).searchParams.get("uri") ?? "";
    asked.push({ secret: uri, tenant: request.headers.get("x-tenant-id") });
    const value = secrets.get(uri);
    if (value === undefined)
      return Response.json(
        { code: "secret_authz_failed", status: 403, title: "no" },
        { status: 403, headers: { "content-type": "application/problem+json" } },
      );
    return Response.json({ uri, value, cached: false, audit_id: "a", keep_seconds: 0 });
  };
  const metrics = createMetrics();
  const open = (): AsyncDisposable =>
    createNotifications({
      database,
      channels,
      membership,
      membershipAudience: "https://membership.test",
      secrets: secretsPeer,
      secretsAudience: "https://secrets.test",
      identity: { clientId: "service:crud", asService: async () => "t", onBehalfOf: async () => "t" },
      isSettled: async ({ id }) => settled.has(id),
      operator: async () => "tenant:operator",
      publicOrigin: "https://sallyport.test",
      config: { smtpUrl: undefined, smtpPasswordUri: undefined, mailFrom: undefined },
      environment: "test",
      maxAttempts: 3,
      log: silentLog,
      metrics,
      everyMs: 20,
      firstWaitSeconds: 0.01,
      ...more,
    });
  const place = (name: string, url: string, given: Record<string, unknown> = {}, allow: readonly string[] = LOOPBACK): void => {
    const format = given["format"] ?? "generic";
    secrets.set(`yaml://secret/${name}#url`, url);
    const shape = { apiVersion: "notifications/v1", name, title: name, tenants: ["tenant:acme"], url: `yaml://secret/${name}#url`, format };
    const key = format === "generic" ? { signing_secret: "yaml://secret/hooks#key" } : {};
    const document = channelShape.parse({ ...shape, ...key, ...given });
    const ceiling = readCeiling(LOOPBACK);
    channels.place(name, { document, rules: { allow: readCeiling(allow).blocks, ceiling, internalPorts: new Set([9]) } });
  };
  const post = (more: Partial<Notice> = {}): Promise<void> => database.transaction(async (sql) => postNotice(sql, { ...notice, ...more }));
  const rows = (): Promise<readonly OutboxRow[]> => database.run(ROWS);
  const start = (): void => {
    const opened = open();
    cleanUp(t, () => opened[Symbol.asyncDispose]());
  };
  /** Waits until nothing is on its way. */
  const over = (): Promise<readonly OutboxRow[]> => until(rows, (all) => all.length > 0 && all.every(({ sent, dead }) => sent || dead));
  return { channels, members, secrets, settled, asked, state, metrics, place, post, rows, start, over };
};

const mailed = (port: number, more: Partial<NotificationsContext["config"]> = {}): Pick<NotificationsContext, "config"> => ({
  config: { smtpUrl: `smtp://127.0.0.1:${port}`, smtpPasswordUri: undefined, mailFrom: "Sallyport <gate@acme.test>", ...more },
});
const decoded = ({ raw }: TakenMail): string =>
  raw.replaceAll("=\r\n", "").replaceAll(/=([0-9A-F]{2})/g, (_all, hex: string) => String.fromCharCode(parseInt(hex, 16)));

test("mail: who asks, the title and a link, and not a byte more", async (t) => {
  const smtp = await mailServer(t, { disabledCommands: ["STARTTLS"] });
  const { start, post, over } = await world(t, await testDatabase(t, ["events", "crud"]), mailed(smtp.port));
  start();
  await post({ recipients: ["person:cleo", "person:dan"], title: "Offboard e1" });
  await over();
  assert.equal(smtp.taken.length, 1);
  const [mail] = smtp.taken;
  assert.deepEqual([mail?.from, mail?.to], ["gate@acme.test", ["cleo@acme.test"]]);
  const [head = "", body] = decoded(mail!).split("\r\n\r\n", 1).concat(decoded(mail!).split("\r\n\r\n").slice(1).join("\n\n"));
  assert.equal(body?.replaceAll("\r\n", "\n").trim(), "Ben waits for you:\n\nOffboard e1\n\nhttps://sallyport.test/tasks/task_1");
  const headers = Object.fromEntries(head.split("\r\n").map((line) => [line.split(":", 1)[0], line.slice(line.indexOf(":") + 2)]));
  assert.match(headers["Message-ID"] ?? "", /^<[0-9a-f-]{36}@sallyport\.test>$/);
  const { Date: _date, "Message-ID": _id, ...known } = headers;
  assert.deepEqual(known, {
    From: "Sallyport <gate@acme.test>",
    To: "cleo@acme.test",
    Subject: "Offboard e1",
    "Auto-Submitted": "auto-generated",
    "Content-Transfer-Encoding": "7bit",
    "MIME-Version": "1.0",
    "Content-Type": "text/plain; charset=utf-8",
  });
});

test("mail servers: with and without STARTTLS, TLS, a sign-in; what is not as it must be sends nothing", async (t) => {
  const { cert, key } = await selfSigned(t, ["127.0.0.1"]);
  const tls = { cert, key };
  const signIn = { smtpPasswordUri: "yaml://secret/smtp#password" };
  const cases: readonly {
    readonly name: string;
    readonly server: Parameters<typeof mailServer>[1];
    readonly url?: (port: number) => string;
    readonly config?: Partial<NotificationsContext["config"]>;
    readonly more?: Partial<NotificationsContext>;
    readonly sent: Partial<TakenMail> | false;
  }[] = [
    { name: "plain, in dev and test", server: { disabledCommands: ["STARTTLS"] }, sent: { isSecure: false, user: undefined } },
    {
      name: "plain is refused in production",
      server: { disabledCommands: ["STARTTLS"] },
      more: { environment: "production", ca: cert },
      sent: false,
    },
    { name: "STARTTLS in production", server: tls, more: { environment: "production", ca: cert }, sent: { isSecure: true } },
    { name: "a certificate that nobody trusts", server: tls, more: { environment: "production" }, sent: false },
    {
      name: "TLS from the start",
      server: { ...tls, secure: true },
      url: (port) => `smtps://127.0.0.1:${port}`,
      more: { environment: "production", ca: cert },
      sent: { isSecure: true },
    },
    {
      name: "STARTTLS and a sign-in",
      server: { ...tls, password: "s3cret" },
      url: (port) => `smtp://gate%40acme@127.0.0.1:${port}`,
      config: signIn,
      more: { environment: "production", ca: cert },
      sent: { isSecure: true, user: "gate@acme" },
    },
    {
      name: "a wrong password",
      server: { ...tls, password: "other" },
      url: (port) => `smtp://gate@127.0.0.1:${port}`,
      config: signIn,
      more: { environment: "production", ca: cert },
      sent: false,
    },
  ];
  for (const { name, server, url = (port: number) => `smtp://127.0.0.1:${port}`, config, more, sent } of cases)
    await t.test(name, async (inner) => {
      const smtp = await mailServer(inner, server);
      const at = await world(inner, await testDatabase(inner, ["events", "crud"]), {
        ...mailed(smtp.port, { smtpUrl: url(smtp.port), ...config }),
        ...more,
      });
      at.secrets.set("yaml://secret/smtp#password", "s3cret");
      at.start();
      await at.post();
      const [, row] = await until(at.rows, (all) => all[1] !== undefined && (all[1].sent || all[1].error !== null));
      assert.equal(row?.sent, sent !== false, String(row?.error));
      assert.equal(smtp.taken.length, sent === false ? 0 : 1);
      // A mail server that cannot be used may be mended: nothing is given up for it.
      if (sent === false) assert.deepEqual([row?.dead, row?.attempts], [false, 0]);
      else assert.partialDeepStrictEqual(smtp.taken[0], sent);
      if (config !== undefined) assert.deepEqual(at.asked[0], { secret: "yaml://secret/smtp#password", tenant: "tenant:operator" });
    });
});

test("a mail server that refuses a receiver for good makes a dead letter; one for now is asked again", async (t) => {
  let n = 0;
  const refuse = (code: number, text: string): Error => Object.assign(new Error(text), { responseCode: code });
  const smtp = await mailServer(t, {
    disabledCommands: ["STARTTLS"],
    onRcptTo: ({ address }, _session, done) =>
      done(address.startsWith("cleo") ? refuse(550, `no ${address} here`) : ++n < 3 ? refuse(451, "later") : null),
  });
  const { start, post, over } = await world(t, await testDatabase(t, ["events", "crud"]), mailed(smtp.port));
  start();
  await post({ recipients: ["person:cleo", "person:ben"] });
  const rows = (await over()).filter(({ sink }) => sink === "mail");
  assert.deepEqual(
    rows.map(({ sent, dead, attempts, error }) => [sent, dead, attempts, error]),
    [
      [false, true, 1, "the mail server answers 550"],
      [true, false, 3, null],
    ],
  );
  assert.deepEqual(
    smtp.taken.map(({ to }) => to),
    [["ben@acme.test"]],
  );
});

test("groups are resolved once, nobody twice; a choice against mail holds; over 100 persons the channels alone are notified", async (t) => {
  const database = await testDatabase(t, ["events", "crud"]);
  const smtp = await mailServer(t, { disabledCommands: ["STARTTLS"] });
  const hook = await hookReceiver(t, (response) => response.writeHead(204).end());
  const { start, post, over, members, place, metrics } = await world(t, database, mailed(smtp.port));
  const [ben, cleo] = people;
  members.set("group:ops", [ben!, cleo!]);
  members.set(
    "group:all",
    Array.from({ length: 200 }, (_one, n) => ({ id: `person:p${n}`, name: `P${n}`, email: `p${n}@acme.test` })),
  );
  place("ops", hook.url);
  await database.run(statement("test.choice", "insert into crud.notification_choice values ('tenant:acme', 'person:ben', false)"));
  assert.deepEqual(
    [await wantsMail(database, "tenant:acme", "person:ben"), await wantsMail(database, "tenant:globex", "person:ben")],
    [false, true],
  );
  start();
  await post({ recipients: ["group:ops", "person:cleo"] });
  await post({ recipients: ["group:all"] });
  await over();
  assert.deepEqual(
    smtp.taken.map(({ to }) => to),
    [["cleo@acme.test"]],
  );
  assert.equal(hook.received.length, 2);
  const text = await metrics.text();
  assert.match(text, /notifications_total\{channel="mail",result="skipped"\} 1/);
  assert.match(text, /notifications_total\{channel="webhook",result="sent"\} 2/);
});

test("what is settled before is not sent; a channel gets what it is for alone; what only the initiator can do goes to no channel", async (t) => {
  const database = await testDatabase(t, ["events", "crud"]);
  const smtp = await mailServer(t, { disabledCommands: ["STARTTLS"] });
  const hook = await hookReceiver(t, (response) => response.writeHead(204).end());
  const { start, post, over, settled, place, state, rows } = await world(t, database, mailed(smtp.port));
  place("approvals", hook.url, { kinds: ["tool_approval"] });
  settled.add("task_settled");
  start();
  await post({ id: "task_settled" });
  await post({ kind: "access_request", id: "requests-1" });
  await post({ kind: "tool_approval", id: "requests-2", recipients: [] });
  await post({ kind: "step_up", id: "run_1", recipients: ["person:ben"] });
  await post({ tenant: "tenant:globex", kind: "tool_approval", id: "requests-3", recipients: [] });
  const all = await over();
  assert.equal(all[0]?.error, "settled before it was sent");
  assert.deepEqual(
    hook.received.map(({ body }) => (JSON.parse(body) as { kind: string }).kind),
    ["tool_approval"],
  );
  assert.equal(smtp.taken.length, 2);

  // While the graph is away nothing is lost or counted as an attempt; settled meanwhile, it is skipped.
  state.isGraphDown = true;
  await post({ id: "task_2" });
  const held = await until(rows, (now) => now.at(-1)?.error !== null);
  assert.deepEqual([held.at(-1)?.attempts, held.at(-1)?.sent], [0, false]);
  state.isGraphDown = false;
  settled.add("task_2");
  await database.run(statement("test.due", "update events.outbox set next_at = now() where sent_at is null"));
  assert.equal((await over()).at(-1)?.error, "settled before it was sent");
  assert.equal(smtp.taken.length, 2);
});

test("forms of webhooks: signed as Standard Webhooks, Slack, Teams; texts of others take no effect there", async (t) => {
  const { start, post, over, place, asked, secrets } = await world(t, await testDatabase(t, ["events", "crud"]));
  const hooks = await Promise.all(
    ["generic", "slack", "teams"].map(() => hookReceiver(t, (response) => response.writeHead(200).end("ok"))),
  );
  for (const [at, format] of ["generic", "slack", "teams"].entries()) place(`c${at}`, hooks[at]!.url, { format });
  place("shared", hooks[0]!.url, { tenants: undefined });
  secrets.set("yaml://secret/shared#url", hooks[0]!.url);
  start();
  await post();
  await over();
  const [generic, slack, teams] = hooks.map(({ received }) => received[0]!);
  const verified = new Webhook(KEY).verify(generic!.body, generic!.headers) as Record<string, unknown>;
  const { id, at, ...rest } = verified;
  assert.deepEqual(rest, {
    kind: "task",
    title: notice.title,
    from: { name: "Ben" },
    url: "https://sallyport.test/tasks/task_1",
    tenant: "tenant:acme",
  });
  assert.equal(id, generic!.headers["webhook-id"]);
  assert.match(String(at), /^\d{4}-.*Z$/);
  assert.throws(() => new Webhook(KEY).verify(generic!.body.replace("Offboard", "Onboard"), generic!.headers));
  assert.deepEqual(JSON.parse(slack!.body), {
    text: "Ben waits for you: Offboard e1 &amp; &lt;https://evil.example|co&gt; <https://sallyport.test/tasks/task_1|Open>",
    parse: "none",
    link_names: false,
    unfurl_links: false,
    unfurl_media: false,
  });
  const [card] = (JSON.parse(teams!.body) as { attachments: { content: { body: { type: string }[]; actions: unknown } }[] }).attachments;
  assert.deepEqual(card?.content.actions, [{ type: "Action.OpenUrl", title: "Open", url: "https://sallyport.test/tasks/task_1" }]);
  assert.deepEqual([...new Set(card?.content.body.map(({ type }) => type))], ["RichTextBlock"]);
  for (const { headers } of [slack!, teams!]) assert.equal(headers["webhook-signature"], undefined);
  // A tenant's channel uses its own secrets, one of several tenants the operator's.
  assert.deepEqual(
    new Set(asked.map(({ secret, tenant }) => `${tenant} ${secret}`)),
    new Set([
      "tenant:acme yaml://secret/hooks#key",
      "tenant:operator yaml://secret/hooks#key",
      "tenant:operator yaml://secret/shared#url",
      ...[0, 1, 2].map((n) => `tenant:acme yaml://secret/c${n}#url`),
    ]),
  );
});

test("receivers that fail: what repeats, what is a dead letter, what its channel shows", async (t) => {
  const cases: readonly {
    readonly name: string;
    readonly answer: (response: Parameters<Parameters<typeof hookReceiver>[1]>[0], n: number) => void;
    readonly requests: number;
    readonly row: readonly [isSent: boolean, attempts: number];
    readonly problem?: RegExp;
  }[] = [
    {
      name: "503, then 429, then well",
      answer: (r, n) => void r.writeHead([503, 429, 204][n - 1] ?? 500, { "retry-after": "0" }).end(),
      requests: 3,
      row: [true, 3],
    },
    {
      name: "it takes it and cuts the line: again with the same id",
      answer: (r, n) => (n === 1 ? r.destroy() : r.writeHead(204).end()),
      requests: 2,
      row: [true, 2],
    },
    {
      name: "404 at once",
      answer: (r) => void r.writeHead(404).end(),
      requests: 1,
      row: [false, 1],
      problem: /1 not delivered, the last at .*: it answers 404/,
    },
    { name: "500 for ever", answer: (r) => void r.writeHead(500).end(), requests: 3, row: [false, 3], problem: /it answers 500/ },
    { name: "it hangs", answer: () => undefined, requests: 3, row: [false, 3], problem: /did not answer/ },
    {
      name: "it redirects",
      answer: (r) => void r.writeHead(307, { location: "http://127.0.0.1:9/" }).end(),
      requests: 1,
      row: [false, 1],
      problem: /redirects \(307\)/,
    },
  ];
  for (const { name, answer, requests, row, problem } of cases)
    await t.test(name, async (inner) => {
      const database = await testDatabase(inner, ["events", "crud"]);
      const at = await world(inner, database, name === "it hangs" ? { webhookDeadlineMs: 300 } : {});
      const hook = await hookReceiver(inner, (response, _received, n) => answer(response, n));
      const other = await hookReceiver(inner, (response) => response.writeHead(204).end());
      at.place("bad", hook.url);
      at.place("good", other.url);
      at.start();
      await at.post();
      // A receiver that hangs delays no other.
      await until(() => other.received.length === 1);
      const rows = await at.over();
      const bad = rows.find(({ key }) => key === "bad");
      assert.deepEqual([bad?.sent, bad?.attempts], row, String(bad?.error));
      assert.equal(hook.received.length, requests);
      assert.equal(new Set(hook.received.map(({ headers }) => headers["webhook-id"])).size, 1);
      const shown =
        problem === undefined
          ? []
          : await until(
              () => at.channels.problems("bad"),
              (found) => found.length > 0,
            );
      if (problem !== undefined) assert.match(shown[0]?.message ?? "", problem);
      assert.deepEqual(at.channels.problems("good"), []);
    });
});

test("addresses that no webhook may reach are dialled by none; nothing arrives", async (t) => {
  const inside = await hookReceiver(t, (response) => response.writeHead(204).end());
  const cases: readonly (readonly [name: string, url: string, error: RegExp, allow?: readonly string[]])[] = [
    ["cloud metadata", "https://169.254.169.254/latest", /metadata/],
    ["cloud metadata as IPv6", "https://[::ffff:169.254.169.254]/latest", /metadata/],
    ["a port of this deployment", "http://127.0.0.1:9/x", /internal_port/],
    ["loopback that is not allowed", inside.url, /not_public/, []],
    ["loopback by name, not allowed", `http://localhost:${inside.port}/`, /not_public/, []],
    ["a private network beyond the operator's ceiling", "https://10.0.0.1/", /not_public/, ["10.0.0.0/8"]],
    ["http to a public address", "http://93.184.215.14/", /plain_http/],
    ["a user in the address", `http://user:pw@127.0.0.1:${inside.port}/`, /no https URL/],
    ["another scheme", "ftp://127.0.0.1/", /no https URL/],
    ["no address", "nothing", /no https URL/],
  ];
  const at = await world(t, await testDatabase(t, ["events", "crud"]));
  for (const [n, [, url, , allow]] of cases.entries()) at.place(`c${n}`, url, {}, allow ?? LOOPBACK);
  at.place("unreadable", inside.url, { signing_secret: "yaml://secret/other#key" });
  at.secrets.set("yaml://secret/weak#key", "whsec_c2hvcnQ=");
  at.place("weak", inside.url, { signing_secret: "yaml://secret/weak#key" });
  at.start();
  await at.post();
  const rows = new Map((await at.over()).map((row) => [row.key, row]));
  for (const [n, [name, , error]] of cases.entries()) {
    const row = rows.get(`c${n}`);
    assert.deepEqual([row?.dead, row?.attempts], [true, 1], name);
    assert.match(row?.error ?? "", error, name);
  }
  assert.match(rows.get("unreadable")?.error ?? "", /secret cannot be read \(secret_authz_failed\)/);
  assert.match(rows.get("weak")?.error ?? "", /signing secret/);
  assert.equal(inside.received.length, 0);
});

forEachDatabase("two processes deliver each row once; a row whose process died is taken again", ["events", "crud"], async (t, database) => {
  const hook = await hookReceiver(t, (response) => response.writeHead(204).end());
  const at = await world(t, database);
  at.place("ops", hook.url);
  for (let n = 0; n < 40; n++) await at.post({ id: `task_${n}` });
  at.start();
  at.start();
  await until(() => hook.received.length >= 40);
  await at.over();
  assert.equal(hook.received.length, 40);
  assert.equal(new Set(hook.received.map(({ headers }) => headers["webhook-id"])).size, 40);
  // As one that was claimed is left.
  await database.run(
    statement(
      "test.died",
      "update events.outbox set sent_at = null, attempts = 1, next_at = now() where seq = (select max(seq) from events.outbox)",
    ),
  );
  await until(() => hook.received.length === 41);
});

test("a notice of a change that is rolled back is none", async (t) => {
  const database = await testDatabase(t, ["events", "crud"]);
  const { rows } = await world(t, database);
  await assert.rejects(
    database.transaction(async (sql) => {
      postNotice(sql, notice);
      throw new Error("undone");
    }),
  );
  assert.deepEqual(await rows(), []);
});
