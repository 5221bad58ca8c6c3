import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import type { EvaluationReply } from "#contract/authzen.ts";
import { ConfigurationRefused, parsePdpConfiguration } from "#pdp/model/configuration-file.ts";
import { builtInVocabulary } from "#pdp/engine/vocabulary.ts";
import { silentLog } from "#telemetry/log.ts";
import { createMetrics } from "#telemetry/metrics.ts";
import { cleanUp } from "#testing/clean-up.ts";
import { pdpConfig, pdpWorld, type PdpWorld } from "#testing/pdp.ts";
import { createRemote } from "./remote-point.ts";

type Answer = (response: ServerResponse, body: string, request: IncomingMessage) => void;

interface Hostile {
  readonly identifier: string;
  metadata: Record<string, unknown> | Answer;
  answer: Answer;
  token: Answer;
  readonly asked: { readonly url: string; readonly authorization: string | undefined; readonly body: string }[];
}

/** A decision point that answers whatever it likes. */
const hostile = async (t: TestContext): Promise<Hostile> => {
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on("data", (part: Buffer) => parts.push(part));
    request.on("end", () => {
      const body = Buffer.concat(parts).toString();
      if (request.url?.startsWith("/.well-known/authzen-configuration") === true) {
        const { metadata } = point;
        if (typeof metadata === "function") metadata(response, body, request);
        else json(metadata)(response, body, request);
        return;
      }
      if (request.url === "/token") return point.token(response, body, request);
      point.asked.push({ url: request.url ?? "", authorization: request.headers.authorization, body });
      point.answer(response, body, request);
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  cleanUp(t, () => {
    server.closeAllConnections();
    server.close();
  });
  const identifier = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const point: Hostile = {
    identifier,
    metadata: {
      policy_decision_point: identifier,
      access_evaluation_endpoint: `${identifier}/ask/one`,
      access_evaluations_endpoint: `${identifier}/ask/many`,
    },
    answer: json({ decision: true }),
    token: json({}),
    asked: [],
  };
  return point;
};

const json =
  (body: unknown, status = 200, headers: Readonly<Record<string, string>> = {}): Answer =>
  (response) =>
    void response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(body));

const worldOver = async (
  t: TestContext,
  decisionPoint: Readonly<Record<string, unknown>>,
  settings: Readonly<Record<string, string>> = {},
  over?: PdpWorld,
): Promise<PdpWorld> => {
  const folder = await mkdtemp(join(tmpdir(), "pdp-"));
  cleanUp(t, () => rm(folder, { recursive: true }));
  const file = join(folder, "pdp.yaml");
  await writeFile(file, JSON.stringify({ decision_point: { kind: "remote", ...decisionPoint } }));
  return pdpWorld(t, { settings: { PDP_CONFIG_FILE: file, ...settings }, ...(over === undefined ? {} : { over }) });
};

const item = (id: string, more: Readonly<Record<string, unknown>> = {}) => ({
  subject: { type: "identity", id: "person:ben", properties: { tenant: "tenant:acme" } },
  action: { name: "view" },
  resource: { type: "pages", id },
  ...more,
});
const two = { evaluations: [item("people"), item("my-work")] };

const permits = (count: number) => ({ evaluations: Array.from({ length: count }, () => ({ decision: true })) });
const withObligation = (obligation: unknown) => json({ decision: true, context: { obligations: [obligation] } });

test("whatever a hostile decision point answers, it is 502 or 503 and never a permit", async (t) => {
  const point = await hostile(t);
  const world = await worldOver(t, { identifier: point.identifier, timeout_ms: 1500 });
  const cases: readonly (readonly [name: string, status: number, answer: Answer, batch?: boolean])[] = [
    ["the word true", 502, json({ decision: "true" })],
    ["the number 1", 502, json({ decision: 1 })],
    ["no decision", 502, json({})],
    ["a context that is none", 502, json({ decision: true, context: "yes" })],
    ["an error beside a permit", 502, json({ decision: true, context: { error: { status: 500, message: "x" } } })],
    ["one item less", 502, json(permits(1)), true],
    ["one item more", 502, json(permits(3)), true],
    ["no items", 502, json(permits(0)), true],
    ["HTML", 502, (response) => void response.writeHead(200, { "content-type": "text/html" }).end('{"decision":true}')],
    ["half an object", 502, (response) => void response.writeHead(200, { "content-type": "application/json" }).end('{"decision":true')],
    ["5 MiB", 502, json({ decision: true, context: { padding: "x".repeat(5 * 1_048_576) } })],
    ["another place", 502, json({ decision: true }, 302, { location: "/ask/one" })],
    ["400", 502, json({ decision: true }, 400)],
    ["401", 502, json({ decision: true }, 401)],
    ["an obligation of a wrong form", 502, withObligation({ id: "mfa", type: "step-up", properties: { acr_value: "weak" } })],
    ["an obligation without a type", 502, withObligation({ id: "mfa" })],
    [
      "too many obligations",
      502,
      json({ decision: true, context: { obligations: Array.from({ length: 17 }, (_n, i) => ({ id: `o${i}`, type: "x" })) } }),
    ],
    ["429", 503, json({ decision: true }, 429)],
    ["500", 503, json({ decision: true }, 500)],
    ["503", 503, json({ decision: true }, 503)],
    ["silence", 503, () => {}],
    [
      "a head and then silence",
      503,
      (response) => void response.writeHead(200, { "content-type": "application/json" }).write('{"decision":true'),
    ],
    ["a broken connection", 503, (response) => void response.destroy()],
  ];
  for (const [name, status, answer, batch = false] of cases) {
    // Failures of earlier rows have left the breaker's window.
    world.clock.now = new Date(world.clock.now.getTime() + 16_000);
    point.answer = answer;
    const response = await world.ask(
      `/access/v1/${batch ? "evaluations" : "evaluation"}`,
      await world.serviceToken(),
      batch ? two : item("people"),
    );
    assert.equal(response.status, status, name);
    assert.doesNotMatch(await response.text(), /"decision":true/, name);
  }
  world.clock.now = new Date(world.clock.now.getTime() + 16_000);
  point.answer = json({ decision: true });
  assert.equal((await world.ask("/access/v1/evaluation", await world.serviceToken(), item("people"))).status, 200);
});

test("an obligation that nobody here knows makes a permit a denial, and a foreign reason says nothing", async (t) => {
  const point = await hostile(t);
  const world = await worldOver(t, { identifier: point.identifier });
  const ask = async (more: Readonly<Record<string, unknown>> = {}) =>
    (await (await world.ask("/access/v1/evaluation", await world.serviceToken(), item("people", more))).json()) as EvaluationReply;
  point.answer = withObligation({ id: "call-the-boss", type: "custom", properties: { kind: "boss" } });
  assert.deepEqual([(await ask()).decision, (await ask()).context?.reason], [false, "obligation_unsupported"]);
  assert.equal((await ask({ context: { supported_obligations: ["custom"] } })).decision, false);
  assert.equal((await ask({ context: { supported_obligations: ["boss"] } })).decision, true);
  point.answer = withObligation({ id: "mfa", type: "step-up", properties: { acr_value: "strong", max_age_seconds: 60 } });
  assert.equal((await ask()).decision, true);
  const unmet = await ask({ context: { supported_obligations: [] } });
  assert.deepEqual([unmet.context?.reason, unmet.context?.obligations], ["obligation_unsupported", undefined]);
  point.answer = json({ decision: false, context: { reason: "because I say so" } });
  assert.equal((await ask()).context?.reason, "not_granted");
  point.answer = json({ decision: false, context: { reason: "step_up_required" } });
  assert.equal((await ask()).context?.reason, "step_up_required");
});

test("only what is configured of the facts is sent, claims stay claims, and roles are Sallyport's alone to name", async (t) => {
  const point = await hostile(t);
  const first = await worldOver(t, {
    identifier: point.identifier,
    subject_properties: { roles: "facts.groups + ['user']", gone: "facts.nope", tenants: "1 + 1" },
  });
  const sent = async (world: PdpWorld, more: Readonly<Record<string, unknown>> = {}) => {
    point.asked.length = 0;
    await world.ask("/access/v1/evaluation", await world.serviceToken(), item("people", more));
    return JSON.parse(point.asked[0]?.body ?? "null") as Readonly<
      Record<"subject" | "resource" | "context", Readonly<Record<string, Readonly<Record<string, unknown>>>>>
    >;
  };
  const none = await sent(first, { context: { claimed: { owner: true }, facts: { granted: true } } });
  assert.deepEqual(none.subject["properties"], { roles: ["group:people-ops", "role:member", "role:operator", "user"], tenants: 2 });
  assert.deepEqual(none.resource["properties"], {});
  assert.deepEqual(none.context, { claimed: { owner: true } });

  const subject = await sent(await worldOver(t, { identifier: point.identifier, facts: "subject" }, {}, first));
  assert.deepEqual(subject.subject["properties"], { groups: ["group:people-ops", "role:member", "role:operator"], tenant: "tenant:acme" });

  const world = await worldOver(
    t,
    { identifier: point.identifier, facts: "full", subject_properties: { roles: "facts.groups" } },
    {},
    first,
  );
  const full = await sent(world, { resource: { type: "pages", id: "people", properties: { granted: false, colour: "red" } } });
  assert.equal(full.resource["properties"]?.["granted"], true);
  assert.equal(full.resource["properties"]?.["colour"], "red");
  assert.equal(full.context["facts"]?.["via_agent"], false);
  // A foreign enforcement point cannot name roles of its own.
  point.asked.length = 0;
  const pep = await world.identity.tokenFor({ sub: "service:pep", tenant: "tenant:acme", scopes: ["authzen.pep"] });
  await world.ask("/access/v1/evaluation", pep, {
    ...item("people"),
    subject: { type: "identity", id: "person:ben", properties: { tenant: "tenant:acme", roles: ["root"], "cerbos.roles": ["root"] } },
  });
  assert.doesNotMatch(point.asked[0]?.body ?? "root", /root/);
});

test("a batch goes out in pieces of the size that the other takes, and one without batches is asked one by one", async (t) => {
  const point = await hostile(t);
  const world = await worldOver(t, { identifier: point.identifier, max_batch: 2 });
  point.answer = (response, body) => {
    const asked = JSON.parse(body) as { readonly evaluations?: readonly unknown[] };
    json(asked.evaluations === undefined ? { decision: true } : permits(asked.evaluations.length))(response, body, {} as IncomingMessage);
  };
  const batch = { evaluations: Array.from({ length: 5 }, () => item("people")) };
  const response = await world.ask("/access/v1/evaluations", await world.serviceToken(), batch);
  assert.equal(((await response.json()) as { evaluations: unknown[] }).evaluations.length, 5);
  assert.deepEqual(point.asked.map(({ url }) => url).toSorted(), ["/ask/many", "/ask/many", "/ask/one"]);
  point.asked.length = 0;
  const { access_evaluations_endpoint: _none, ...single } = point.metadata as Record<string, unknown>;
  point.metadata = single;
  const other = await worldOver(t, { identifier: point.identifier }, {}, world);
  await other.ask("/access/v1/evaluations", await other.serviceToken(), batch);
  assert.deepEqual(
    point.asked.map(({ url }) => url),
    Array.from({ length: 5 }, () => "/ask/one"),
  );
});

test("client credentials are exchanged for a token, kept until it ends and fetched anew when it is refused", async (t) => {
  const point = await hostile(t);
  let fetched = 0;
  point.token = (response, body, request) => {
    assert.equal(request.headers.authorization, `Basic ${Buffer.from("sally%3Aport:s+cret%25").toString("base64")}`);
    assert.equal(body, "grant_type=client_credentials");
    json({ access_token: `t${(fetched += 1)}`, token_type: "Bearer", expires_in: 300 })(response, body, request);
  };
  const world = await worldOver(
    t,
    { identifier: point.identifier, auth: "client_credentials" },
    { PDP_REMOTE_TOKEN_URL: `${point.identifier}/token`, PDP_REMOTE_CLIENT_ID: "sally:port", PDP_REMOTE_CLIENT_SECRET: "s cret%" },
  );
  const ask = async () => (await world.ask("/access/v1/evaluation", await world.serviceToken(), item("people"))).status;
  assert.deepEqual([await ask(), await ask()], [200, 200]);
  point.answer = json({}, 401);
  assert.equal(await ask(), 502);
  point.answer = json({ decision: true });
  assert.equal(await ask(), 200);
  world.clock.now = new Date(world.clock.now.getTime() + 271_000);
  assert.equal(await ask(), 200);
  assert.deepEqual(
    point.asked.map(({ authorization }) => authorization),
    ["Bearer t1", "Bearer t1", "Bearer t1", "Bearer t2", "Bearer t3"],
  );
  point.token = json({ error: "invalid_client" }, 401);
  world.clock.now = new Date(world.clock.now.getTime() + 271_000);
  assert.equal(await ask(), 503);
});

/** What a start that is refused never asks. */
const unused = {
  facts: { gather: async () => assert.fail(), gatherIf: async () => assert.fail(), ready: async () => assert.fail() },
  decisions: { resources: async () => assert.fail(), permittedCall: async () => assert.fail() },
  vocabulary: builtInVocabulary,
  isInAgentReach: () => assert.fail(),
  metrics: createMetrics(),
  log: silentLog,
  now: () => new Date(),
};

test("a decision point that is not the one that is configured stops the start, with the reason", async (t) => {
  const point = await hostile(t);
  const good = point.metadata as Record<string, unknown>;
  const cases: readonly (readonly [says: RegExp, metadata: Hostile["metadata"], more?: Readonly<Record<string, unknown>>])[] = [
    [/says it is http:\/\/other/, { ...good, policy_decision_point: "http://other" }],
    [/access_evaluation_endpoint is not an address of/, { ...good, access_evaluation_endpoint: "http://127.0.0.1:1/x" }],
    [/access_evaluations_endpoint is not an address of/, { ...good, access_evaluations_endpoint: "/relative" }],
    [/not the metadata/, { policy_decision_point: point.identifier }],
    [/is not JSON/, (response) => void response.end("<html>")],
    [/answered with 404/, json({}, 404)],
    [/answered with 302/, json(good, 302, { location: "/elsewhere" })],
    [/more than 65536 bytes/, { ...good, padding: "x".repeat(70_000) }],
    [/PDP_REMOTE_TOKEN/, good, { auth: "bearer_from_env" }],
    [/PDP_REMOTE_TOKEN_URL[\s\S]*PDP_REMOTE_CLIENT_SECRET/, good, { auth: "client_credentials" }],
    [/subject_properties\/roles/, good, { subject_properties: { roles: "facts.groups +" } }],
    [/identifier/, good, { identifier: "http://pdp.example" }],
    [/identifier/, good, { identifier: "https://user@pdp.example" }],
    [/max_batch/, good, { max_batch: 0 }],
  ];
  for (const [says, metadata, more = {}] of cases) {
    point.metadata = metadata;
    const text = JSON.stringify({ decision_point: { kind: "remote", identifier: point.identifier, ...more } });
    const start = async () => {
      const { decision_point: remote } = parsePdpConfiguration(text, "pdp.yaml");
      assert.ok(remote.kind === "remote");
      await createRemote({ ...unused, remote, configFile: "pdp.yaml", secrets: pdpConfig({ PDP_REMOTE_CLIENT_ID: "x" }) });
    };
    await assert.rejects(
      start,
      (error: unknown) => error instanceof ConfigurationRefused && error.exitCode === 78 && says.test(error.message),
      String(says),
    );
  }
});
