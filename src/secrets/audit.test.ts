import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { createIntegrator } from "#events/audit/integrator.ts";
import { silentLog } from "#telemetry/log.ts";
import { testSecrets } from "#testing/secrets.ts";

const SALT = "0123456789abcdef0123456789abcdef";
const URI = "yaml://secret/audit/one#key";
const CANARY = "canary-of-the-audit";
const scopes = ["read", "write", "read_metadata"].map((name) => `secrets.${name}`);
const ada = { sub: "person:ada", tenant: "tenant:acme", scopes: [...scopes, "audit.read"] };
const ben = { ...ada, sub: "person:ben" };
const eve = { ...ada, sub: "person:eve", tenant: "tenant:globex" };

interface Item {
  readonly audit_id: string;
  readonly type: string;
  readonly data: {
    readonly op: string;
    readonly outcome: string;
    readonly resource_ref?: string;
    readonly actor: { readonly subject_ref: string; readonly subject_id?: string };
  };
}
interface Page {
  readonly items: readonly Item[];
  readonly next_cursor?: string;
}

/** Ada wrote a secret and read it twice, and Ben was refused. */
const open = async (
  t: TestContext,
  settings: Readonly<Record<string, string>> = { TENANT_SALT: SALT },
  environment: "test" | "production" = "test",
) => {
  const at = await testSecrets(t, { settings, environment });
  await at.database.script("delete from events.audit_entry; delete from events.audit_log");
  at.rule = ({ sub, ask }) => sub !== "person:ben" || ask.action === "read_metadata";
  const uri = encodeURIComponent(URI);
  if (environment === "test") {
    assert.equal((await at.send(ada, "POST", "/api/secrets", { body: { uri: URI, value: CANARY } })).status, 201);
    for (const who of [ada, ada, ben]) await at.send(who, "GET", `/api/secrets/value?uri=${uri}`);
  }
  await using integrator = createIntegrator({ database: at.database, log: silentLog, origin: "test" });
  await integrator.integrate();
  const audit = async (query: Readonly<Record<string, string>> = {}, who: Parameters<typeof at.send>[0] = ada) => {
    const text = Object.entries(query)
      .map(([name, value]) => `${name}=${encodeURIComponent(value)}`)
      .join("&");
    const response = await at.send(who, "GET", `/api/secrets/audit?${text}`);
    return { status: response.status, text: await response.text() };
  };
  const page = async (query: Readonly<Record<string, string>> = {}): Promise<Page> => {
    const { status, text } = await audit(query);
    assert.equal(status, 200, text);
    return JSON.parse(text) as Page;
  };
  return { at, audit, page };
};

const typesOf = ({ items }: Page): readonly string[] => items.map(({ type }) => type);

test("the audit of secrets tells acts by reference and who did them, the newest first, by every filter, page by page", async (t) => {
  const { page, audit } = await open(t);
  const all = await page();
  assert.deepEqual(typesOf(all), ["secrets.denied.v1", "secrets.read.v1", "secrets.read.v1", "secrets.updated.v1"]);
  assert.ok(!JSON.stringify(all).includes(CANARY) && !JSON.stringify(all).includes("audit/one"));
  assert.deepEqual(
    all.items.map(({ data }) => data.actor.subject_id),
    ["person:ben", "person:ada", "person:ada", "person:ada"],
  );
  const [denied, read, , write] = all.items;
  const ref = write?.data.resource_ref ?? "";
  assert.match(ref, /^hr1\.1\./);
  const filters: readonly (readonly [Readonly<Record<string, string>>, number])[] = [
    [{ op: "value" }, 3],
    [{ op: "value", outcome: "ok" }, 2],
    [{ outcome: "denied" }, 1],
    [{ actor: "person:ada" }, 3],
    [{ actor: denied?.data.actor.subject_ref ?? "" }, 1],
    [{ actor: "person:nobody" }, 0],
    [{ agent: "agent:none" }, 0],
    [{ uri: URI }, 4],
    [{ uri: URI, resource_ref: "hr1.1.other" }, 0],
    [{ resource_ref: ref }, 4],
    [{ uri: "yaml://secret/audit/other" }, 0],
    [{ since: "2999-01-01T00:00:00Z" }, 0],
    [{ until: "2999-01-01T00:00:00+01:00" }, 4],
    [{ decision_id: "none" }, 0],
    [{ correlation_id: "none" }, 0],
  ];
  for (const [query, count] of filters) assert.equal((await page(query)).items.length, count, JSON.stringify(query));

  const first = await page({ limit: "2" });
  const second = await page({ limit: "2", cursor: first.next_cursor ?? "" });
  assert.deepEqual([...first.items, ...second.items], all.items);
  assert.equal(second.next_cursor, undefined);
  assert.equal(read?.audit_id, first.items[1]?.audit_id);
  assert.match((await audit({ limit: "2", op: "write", cursor: first.next_cursor ?? "" })).text, /invalid_cursor/);
});

test("the audit of secrets is for whoever may read it, in the own tenant, with the scope, well asked", async (t) => {
  const { at, audit } = await open(t);
  const refused: readonly (readonly [Readonly<Parameters<typeof audit>>, number, string])[] = [
    [[{}, "nobody"], 401, "unauthenticated"],
    [[{}, { ...ada, scopes }], 403, "insufficient_scope"],
    [[{}, ben], 403, "access_denied"],
    [[{}, { ...ada, tenant: "tenant:other" }], 403, "tenant_mount"],
    [[{ uri: "vaultA+kv2://kv-other/x" }], 403, "tenant_mount"],
    [[{ uri: "no uri" }], 400, "uri_"],
    [[{ who: "x" }], 400, "query_unknown"],
    [[{ since: "yesterday" }], 422, "unprocessable"],
    [[{ limit: "501" }], 422, "unprocessable"],
    [[{ cursor: "x" }], 400, "invalid_cursor"],
    ...["op", "actor", "agent", "resource_ref", "decision_id", "correlation_id"].map(
      (name) => [[{ [name]: "a\u0000" }], 422, "unprocessable"] as const,
    ),
    [[{ cursor: "\u0000" }], 422, "unprocessable"],
  ];
  for (const [[query, who], status, code] of refused) {
    const answer = await audit(query, who);
    assert.equal(answer.status, status, answer.text);
    assert.ok((JSON.parse(answer.text) as { code: string }).code.startsWith(code), answer.text);
  }
  for (const scope of ["secrets.audit", "audit.read"]) assert.equal((await audit({}, { ...ada, scopes: [scope] })).status, 200, scope);
  assert.equal((await audit({}, { ...ada, sub: "00u1a2b3" })).status, 200);
  assert.equal(at.asked.at(-1)?.ask.context?.["caller_kind"], "person", "whatever the id looks like");
  assert.deepEqual((JSON.parse((await audit({}, eve)).text) as Page).items, []);
  assert.deepEqual(
    at.asked.filter(({ ask, tenant }) => ask.action === "read_audit" && tenant === "tenant:globex").map(({ ask }) => ask.id),
    ["vaulta+kv2://kv-globex"],
  );
  const bare = await open(t, {});
  assert.match((await bare.audit({ uri: URI })).text, /TENANT_SALT/);
});

test("the audit says what a value was wanted for, to whoever may read it and as long as the person is not erased", async (t) => {
  const { at, page } = await open(t);
  const purpose = "looking after the canary of a purpose";
  const headers = { "x-purpose": purpose };
  for (const who of [ada, ben]) await at.send(who, "GET", `/api/secrets/value?uri=${encodeURIComponent(URI)}`, { headers });
  await using integrator = createIntegrator({ database: at.database, log: silentLog, origin: "test" });
  await integrator.integrate();
  const stated = async () =>
    (await page()).items.map(({ type, data }) => [type, data.actor.subject_id, (data as { stated_purpose?: string }).stated_purpose]);
  const said = await stated();
  assert.deepEqual(said.slice(0, 3), [
    ["secrets.denied.v1", "person:ben", purpose],
    ["secrets.read.v1", "person:ada", purpose],
    ["secrets.denied.v1", "person:ben", undefined],
  ]);
  await at.database.script("delete from events.subject_key where subject_id = 'person:ben'");
  assert.deepEqual((await stated()).slice(0, 2), [
    ["secrets.denied.v1", undefined, undefined],
    ["secrets.read.v1", "person:ada", purpose],
  ]);
});

/** Frames until there are so many of one name. */
const framesOf = async (response: Response, event: string, count: number): Promise<readonly string[]> => {
  assert.equal(response.status, 200);
  const frames: string[] = [];
  let text = "";
  for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
    text += chunk;
    const parts = text.split("\n\n");
    text = parts.pop() ?? "";
    frames.push(...parts);
    if (frames.filter((frame) => frame.includes(`event: ${event}`)).length >= count) break;
  }
  return frames;
};

test("acts on secrets are told as they happen, by operation, and again from where the reader was", async (t) => {
  const { at } = await open(t);
  const read = () => at.send(ada, "GET", `/api/secrets/value?uri=${encodeURIComponent(URI)}`);
  const live = await at.send(ada, "GET", "/api/secrets/events?op=value");
  await at.send(ada, "POST", "/api/secrets", { body: { uri: URI, value: "other" } });
  await read();
  const frames = await framesOf(live, "secrets.read.v1", 1);
  assert.ok(!frames.some((frame) => frame.includes("secrets.updated")), "the other operation is not told");
  const frame = frames.find((one) => one.includes("secrets.read.v1")) ?? "";
  assert.match(frame, /"op":"value"/);
  assert.ok(!frame.includes("person:") && !frame.includes("audit/one"));
  const id = /^id: ?(\d+)$/m.exec(frame)?.[1] ?? "";
  await read();
  const again = await at.send(ada, "GET", "/api/secrets/events", { headers: { "last-event-id": String(Number(id) - 2) } });
  const replayed = await framesOf(again, "secrets.read.v1", 2);
  assert.deepEqual(
    replayed.flatMap((one) => /^event: ?(secrets\.\S+)$/m.exec(one)?.[1] ?? []),
    ["secrets.updated.v1", "secrets.read.v1", "secrets.read.v1"],
  );
});

test("acts below a place are told alone, and the place stands in no frame", async (t) => {
  const { at } = await open(t);
  const set = (uri: string) => at.send(ada, "POST", "/api/secrets", { body: { uri, value: { k: 1 } } });
  for (const [prefix, reported, untold] of [
    ["audit", "yaml://secret/audit/two", "yaml://secret/audit2/two"],
    ["yaml%3A%2F%2Fsecret%2Faudit%2Fdeep%2F", "yaml://secret/audit/deep", "yaml://secret/audit/other"],
    ["yaml://secret", "yaml://secret/anything", ""],
  ] as const) {
    const live = await at.send(ada, "GET", `/api/secrets/events?prefix=${prefix}&op=write`);
    if (untold !== "") await set(untold);
    await set(reported);
    const frames = (await framesOf(live, "secrets.updated.v1", 1)).filter((frame) => frame.includes("secrets.updated"));
    assert.equal(frames.length, 1, prefix);
    const { data } = (await at.events()).at(-1)!;
    const [frame = ""] = frames;
    assert.ok(frame.includes(String(data["correlation_id"])) && !frame.includes("places"), frame);
  }
});

test("what was recorded under an earlier salt is found by its URI after the salt was changed", async (t) => {
  const first = await open(t);
  const old = (await first.page({ uri: URI })).items.length;
  assert.ok(old > 0);
  const later = await testSecrets(t, {
    keepsRecords: true,
    settings: { TENANT_SALT: "another-salt-of-32-bytes-at-least", TENANT_SALT_KID: "2", TENANT_SALT_PREVIOUS: `1=${SALT}` },
  });
  const found = async (query: string) =>
    ((await (await later.send(ada, "GET", `/api/secrets/audit?${query}`)).json()) as Page).items.length;
  assert.equal(await found(`uri=${encodeURIComponent(URI)}`), old);
});

test("the stream of secrets is for whoever may read their audit, and in production only where it is wanted", async (t) => {
  const { at } = await open(t);
  const said = async (who: Parameters<typeof at.send>[0], query = "") => {
    const response = await at.send(who, "GET", `/api/secrets/events${query}`);
    return [response.status, ((await response.json()) as { code: string }).code];
  };
  assert.deepEqual(await said("nobody"), [401, "unauthenticated"]);
  assert.deepEqual(await said({ ...ada, scopes: ["audit.read"] }), [403, "insufficient_scope"]);
  assert.deepEqual(await said(ben), [403, "access_denied"]);
  assert.deepEqual(await said({ ...ada, agent: "agent:hr-assistant" }), [403, "person_required"]);
  assert.deepEqual(await said(ada, "?who=x"), [400, "query_unknown"]);
  assert.deepEqual(await said(ada, "?prefix=x&prefix=y"), [400, "query_repeated"]);
  assert.deepEqual(await said(ada, "?prefix=vaultA%2Bkv2://kv-other/x"), [403, "tenant_mount"]);
  assert.deepEqual(await said(ada, "?prefix=a/../b"), [400, "uri_dot_segment"]);
  assert.deepEqual(await said(ada, "?op=steal"), [422, "unprocessable"]);
  const production = await open(t, { TENANT_SALT: SALT }, "production");
  const response = await production.at.send(ada, "GET", "/api/secrets/events");
  assert.equal(response.status, 404);
  await response.body?.cancel();
});

test("without tokens and without scopes, as dev and test allow it, both are decided all the same", async (t) => {
  const settings = {
    SECRETS_API_REQUIRE_AUTH: "false",
    SECRETS_ENFORCE_SCOPES: "false",
    TENANT_ID: "tenant:acme",
    TENANT_ALLOWED_MOUNTS: "yaml://secret",
  };
  const { at, audit } = await open(t, settings);
  assert.equal((await audit({}, "nobody")).status, 200);
  const stream = await at.send("nobody", "GET", "/api/secrets/events");
  assert.equal(stream.status, 200);
  await stream.body?.cancel();
  assert.equal((await audit({}, { ...ada, scopes: [] })).status, 200, "no scope is asked for");
  at.rule = () => false;
  assert.equal((await audit({}, "nobody")).status, 403);
  assert.equal((await at.send("nobody", "GET", "/api/secrets/events")).status, 403);
});
