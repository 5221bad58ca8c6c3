import assert from "node:assert/strict";
import { test } from "node:test";
import { createLocalJWKSet, jwtVerify, type JSONWebKeySet } from "jose";
import { z } from "zod";
import type { EvaluationReply } from "#contract/authzen.ts";
import type { ProblemBody } from "#contract/problem.ts";
import { testIdentity } from "#testing/identity.ts";
import { factAsk } from "#contract/facts.ts";
import type { FactSource } from "./facts/fact-source.ts";
import { statement } from "#store/database.ts";
import { pdpWorld, readerFacts, sharedPdpWorld } from "#testing/pdp.ts";

const keptKey = statement<{ readonly sealed_private: Uint8Array }>("test.metadata_key", "select sealed_private from pdp.metadata_key");

/** One world for the tests that change nothing in it. */
const shared = sharedPdpWorld();

const SINGLE = "/access/v1/evaluation";
const BATCH = "/access/v1/evaluations";
const ben = { type: "identity", id: "person:ben", properties: { tenant: "tenant:acme" } };
const dan = { type: "identity", id: "person:dan", properties: { tenant: "tenant:acme" } };
const people = { type: "pages", id: "people" };
const view = { name: "view" };
const allowed = { subject: ben, action: view, resource: people };
const denied = { subject: dan, action: view, resource: people };
const read = async <T>(response: Response): Promise<T> => (await response.json()) as T;

test("a single evaluation answers 200 with decision and id for permit and deny alike", async () => {
  const world = await shared();
  const token = await world.serviceToken();
  const yes = await world.ask(SINGLE, token, allowed);
  assert.equal(yes.status, 200);
  const permit = await read<EvaluationReply>(yes);
  assert.equal(permit.decision, true);
  assert.match(permit.context?.decision_id ?? "", /^d_[0-9A-Z]{26}$/);
  assert.equal(yes.headers.get("x-decision-id"), permit.context?.decision_id);
  assert.equal(yes.headers.get("cache-control"), "no-store");
  const no = await world.ask(SINGLE, token, denied);
  assert.equal(no.status, 200);
  const deny = await read<EvaluationReply>(no);
  assert.equal(deny.decision, false);
  assert.equal(deny.context?.reason, "not_granted");
});

test("bad input of a single evaluation is 400 problem+json, never 422", async () => {
  const world = await shared();
  const token = await world.serviceToken();
  const cases: readonly (readonly [name: string, body: unknown, code: string])[] = [
    ["nothing", "", "invalid_request"],
    ["no JSON", "{", "body_unreadable"],
    ["an array", [], "invalid_request"],
    ["no subject", { action: view, resource: people }, "invalid_request"],
    ["no action", { subject: ben, resource: people }, "invalid_request"],
    ["no resource", { subject: ben, action: view }, "invalid_request"],
    ["no resource id", { subject: ben, action: view, resource: { type: "pages" } }, "invalid_request"],
    ["an action without name", { ...allowed, action: {} }, "invalid_request"],
    ["a subject that is text", { ...allowed, subject: "person:ben" }, "invalid_request"],
    ["a context that is text", { ...allowed, context: "here" }, "invalid_request"],
    ["a control character in an id", { ...allowed, resource: { type: "pages", id: "a\u0000b" } }, "invalid_request"],
    ["a control character in an agent's id", { ...allowed, context: { agent: { id: "agent:\u0000" } } }, "invalid_request"],
    ["half a surrogate pair", { ...allowed, resource: { type: "pages", id: "\ud800" } }, "invalid_request"],
    [
      "a subject of more bytes than records are found by",
      { ...allowed, subject: { type: "identity", id: "\u8a9e".repeat(683) } },
      "invalid_request",
    ],
    ["a repeated member", '{"subject":{"type":"identity","id":"a","id":"b"}}', "duplicate_member"],
    ["an unknown semantic", { ...allowed, evaluations: [{}], options: { evaluations_semantic: "any" } }, "invalid_request"],
    ["a price that is no amount", { ...allowed, resource: { ...people, properties: { cost_usd: "1" } } }, "invalid_request"],
  ];
  for (const [name, body, code] of cases) {
    const path = name === "an unknown semantic" ? BATCH : SINGLE;
    const response = await world.ask(path, token, body, { "x-request-id": "r 1" });
    assert.equal(response.status, 400, name);
    assert.equal(response.headers.get("content-type"), "application/problem+json", name);
    assert.equal(response.headers.get("x-request-id"), "r 1", name);
    assert.equal((await read<ProblemBody>(response)).code, code, name);
  }
  const plain = await world.ask(SINGLE, token, JSON.stringify(allowed), { "content-type": "text/plain" });
  assert.equal(plain.status, 400, "the standard knows no 415");
  const query = await world.ask(`${SINGLE}?x=1`, token, allowed);
  assert.equal(query.status, 400);
});

test("the longest ids that are taken are recorded, and the decision is found by its subject", async () => {
  const world = await shared();
  const subject = { type: "identity", id: "\u8a9e".repeat(682) };
  const resource = { type: "pages", id: "\u8a9e".repeat(1024) };
  const response = await world.ask(SINGLE, await world.serviceToken(), { ...allowed, subject, resource });
  assert.equal(response.status, 200);
  const id = (await read<EvaluationReply>(response)).context?.decision_id ?? "";
  const found = statement<{ readonly call_id: string }>("test.by_subject", "select call_id from pdp.call where subject = $1");
  assert.deepEqual(await world.database.run(found, [subject.id]), [{ call_id: id }]);
});

test("who has no fit token is told how, before anything else is looked at", async () => {
  const world = await shared();
  const person = { sub: "person:ben", tenant: "tenant:acme", scopes: ["authzen.pep"] } as const;
  const wrongAudience = await world.identity.tokenFor(person, "http://localhost:8083");
  const expired = await world.identity.tokenFor({ ...person, life: -10 });
  for (const token of [undefined, "nonsense", wrongAudience, expired]) {
    const response = await world.ask(SINGLE, token, "{");
    assert.equal(response.status, 401);
    assert.match(response.headers.get("www-authenticate") ?? "", /^Bearer/);
  }
  const scope = await world.ask(SINGLE, await world.personToken("ben"), allowed);
  assert.equal(scope.status, 403);
  assert.equal((await read<ProblemBody>(scope)).code, "insufficient_scope");
});

test("X-Request-ID returns unchanged on every answer; one that is not printable or too long is refused", async () => {
  const world = await shared();
  const token = await world.serviceToken();
  for (const [path, credential, body] of [
    [SINGLE, token, allowed],
    [SINGLE, undefined, allowed],
    ["/nowhere", token, undefined],
    ["/.well-known/authzen-configuration", undefined, undefined],
  ] as const) {
    const response = await world.ask(path, credential, body, { "x-request-id": "abc {1} ~" });
    assert.equal(response.headers.get("x-request-id"), "abc {1} ~", path);
  }
  const long = await world.ask(SINGLE, token, allowed, { "x-request-id": "x".repeat(257) });
  assert.equal(long.status, 400);
  assert.equal(long.headers.get("x-request-id"), null);
});

test("a batch answers in order, takes defaults whole, and puts what is wrong with an item in its place", async () => {
  const world = await shared();
  const token = await world.serviceToken();
  const response = await world.ask(BATCH, token, {
    subject: ben,
    action: view,
    resource: { type: "pages", id: "people", properties: { a: 1 } },
    evaluations: [
      {},
      { resource: { type: "pages", id: "operations" } },
      { resource: { kind: "pages" }, action: { label: "view" }, subject: { name: "ben" } },
      { resource: { id: "x" } },
      { resource: { type: "" } },
      "text",
      { subject: dan },
      { action: { name: 7 } },
    ],
  });
  assert.equal(response.status, 200);
  const { evaluations } = await read<{ evaluations: EvaluationReply[] }>(response);
  assert.deepEqual(
    evaluations.map((item) => [item.decision, item.context?.error?.status ?? item.context?.reason]),
    [
      [true, undefined],
      [false, "approval_required"],
      [false, 400],
      [false, "resource_unresolved"],
      [false, 400],
      [false, 400],
      [false, "not_granted"],
      [false, 400],
    ],
    "a type alone is taken from the default where an item leaves it out",
  );
  const ids = evaluations.map((item) => item.context?.decision_id);
  const callId = response.headers.get("x-decision-id");
  assert.deepEqual(
    ids,
    [0, 1, undefined, 3, undefined, undefined, 6, undefined].map((index) => (index === undefined ? undefined : `${callId}.${index}`)),
  );
  assert.match(evaluations[4]?.context?.error?.message ?? "", /\/resource\/type/);
});

test("the three semantics of a batch cut where they should", async () => {
  const world = await shared();
  const token = await world.serviceToken();
  const wrong = { resource: 1 };
  const run = async (semantic: string | undefined, items: readonly unknown[]): Promise<boolean[]> => {
    const body = { action: view, evaluations: items, ...(semantic === undefined ? {} : { options: { evaluations_semantic: semantic } }) };
    return (await read<{ evaluations: EvaluationReply[] }>(await world.ask(BATCH, token, body))).evaluations.map((item) => item.decision);
  };
  assert.deepEqual(await run(undefined, [allowed, denied, allowed]), [true, false, true]);
  assert.deepEqual(await run("execute_all", [denied, wrong, allowed]), [false, false, true]);
  assert.deepEqual(await run("deny_on_first_deny", [allowed, denied, allowed]), [true, false]);
  assert.deepEqual(await run("deny_on_first_deny", [allowed, wrong, allowed]), [true, false]);
  assert.deepEqual(await run("deny_on_first_deny", [wrong, allowed]), [false]);
  assert.deepEqual(await run("permit_on_first_permit", [denied, wrong, allowed, denied]), [false, false, true]);
  assert.deepEqual(await run("permit_on_first_permit", [denied, denied]), [false, false]);
});

test("a batch without items is a single evaluation; one with too many is refused whole", async (t) => {
  const world = await pdpWorld(t, { settings: { PDP_BATCH_MAX_ITEMS: "3" } });
  const token = await world.serviceToken();
  for (const body of [allowed, { ...allowed, evaluations: [] }]) {
    const reply = await read<EvaluationReply>(await world.ask(BATCH, token, body));
    assert.equal(reply.decision, true);
    assert.match(reply.context?.decision_id ?? "", /^d_[0-9A-Z]{26}$/);
  }
  assert.equal((await world.ask(BATCH, token, { action: view })).status, 400);
  assert.equal((await world.ask(BATCH, token, { evaluations: { a: allowed } })).status, 400);
  const many = await world.ask(BATCH, token, { evaluations: [allowed, allowed, allowed, allowed] });
  assert.equal(many.status, 413);
  assert.equal((await read<ProblemBody>(many)).code, "too_many_evaluations");
});

test("only services of Sallyport vouch for circumstances; from anybody else such a member is refused, not dropped", async () => {
  const world = await shared();
  const foreign = await world.identity.tokenFor({ sub: "service:pep", tenant: "tenant:acme", scopes: ["authzen.pep"] });
  for (const member of ["could", "agent", "approval", "tool", "facts"]) {
    const ask = { ...allowed, context: { [member]: true } };
    for (const [path, body] of [
      [SINGLE, ask],
      [BATCH, { evaluations: [allowed, ask] }],
      [BATCH, { ...ask, evaluations: [allowed.resource] }],
    ] as const) {
      const response = await world.ask(path, foreign, body);
      assert.equal(response.status, 400, member);
      assert.equal((await read<ProblemBody>(response)).code, "reserved_context_member");
    }
  }
  const notCrud = await world.ask(SINGLE, await world.serviceToken("gateway"), {
    ...allowed,
    action: { name: "tools/list" },
    context: { could: true },
  });
  assert.equal(notCrud.status, 400);
  const notList = await world.ask(SINGLE, await world.serviceToken("crud"), { ...allowed, context: { could: true } });
  assert.equal(notList.status, 400);
  const listing = {
    subject: ben,
    action: { name: "tools/list" },
    resource: { type: "tool", id: "people.demo.update_salary" },
    context: { could: true },
  };
  assert.equal((await read<EvaluationReply>(await world.ask(SINGLE, await world.serviceToken("crud"), listing))).decision, true);

  // Of the secret that a call would use: whether it could, in the tenant that is named, and nobody else asks so.
  const using = (tool: string, tenant: string) => ({
    subject: { type: "identity", id: "service:crud", properties: { tenant: "*" } },
    action: { name: "use" },
    resource: { type: "secret", id: "yaml://secret/people/demo#api_key", properties: { tenant } },
    context: { could: true, showing: true, tool: { id: tool } },
  });
  for (const [tool, tenant, decision] of [
    ["people.demo.get_employee", "tenant:acme", true],
    ["other.system.get_employee", "tenant:acme", false],
  ] as const) {
    const answer = await read<EvaluationReply>(await world.ask(SINGLE, await world.serviceToken("crud"), using(tool, tenant)));
    assert.equal(answer.decision, decision, `${tool} ${tenant} ${JSON.stringify(answer)}`);
  }
  const notTools = await world.ask(SINGLE, await world.serviceToken("secrets"), using("people.demo.get_employee", "tenant:acme"));
  assert.equal(notTools.status, 400);
});

test("an enforcement point of one tenant learns nothing of another tenant's subjects and resources", async () => {
  const world = await shared();
  const globex = await world.identity.tokenFor({ sub: "service:globex-app", tenant: "tenant:globex", scopes: ["authzen.pep"] });
  const reasonOf = async (body: unknown): Promise<string | undefined> =>
    (await read<EvaluationReply>(await world.ask(SINGLE, globex, body))).context?.reason;
  assert.equal(await reasonOf(allowed), "subject_unresolved");
  assert.equal(await reasonOf({ ...allowed, subject: { type: "identity", id: "person:ben" } }), "subject_unresolved");
  assert.equal(await reasonOf({ ...allowed, subject: { type: "identity", id: "person:nobody" } }), "subject_unresolved");
  const eve = { type: "identity", id: "person:eve" };
  assert.equal(await reasonOf({ ...allowed, subject: eve }), "resource_unresolved");
  assert.equal(await reasonOf({ ...allowed, subject: eve, resource: { type: "pages", id: "nowhere" } }), "resource_unresolved");
  assert.equal(
    await reasonOf({ subject: { ...eve, properties: { tenant: "tenant:acme" } }, action: view, resource: people }),
    "subject_unresolved",
  );
});

test("what the graph could not hold is unresolved, and nothing beside it fails", async (t) => {
  const { world: graph } = await shared();
  const reader = readerFacts(graph);
  // As membership's own endpoint has it: one ask that is none fails all of them.
  const facts: FactSource = { ...reader, gather: async (asks) => reader.gather(z.array(factAsk).min(1).parse(asks)) };
  const world = await pdpWorld(t, { over: await shared(), parts: { facts } });
  const token = await world.serviceToken();
  const long = (text: string, length: number): string => text.padEnd(length, "x");
  const cases: readonly (readonly [unknown, string | undefined])[] = [
    [{ ...allowed, resource: { type: "page.widget", id: "q" } }, "resource_unresolved"],
    [{ ...allowed, resource: { type: "page.widget", id: ":q" } }, "resource_unresolved"],
    [{ ...allowed, resource: { type: "page.widget", id: `${long("p", 1_023)}:` } }, "resource_unresolved"],
    [{ ...allowed, action: { name: "read" }, resource: { type: "secret", id: "#key" } }, "resource_unresolved"],
    [{ ...allowed, action: { name: "read" }, resource: { type: "secret", id: "#" } }, "resource_unresolved"],
    [{ ...allowed, resource: { type: "pages", id: long("people", 1_024) } }, "resource_unresolved"],
    [{ ...allowed, subject: { ...ben, id: long("person:ben", 257) } }, "subject_unresolved"],
    [{ ...allowed, subject: { ...ben, id: long("person:ben", 1_024) } }, "subject_unresolved"],
    [{ ...allowed, context: { agent: { id: long("agent:hr-assistant", 257) } } }, "subject_unresolved"],
    [allowed, undefined],
  ];
  for (const [body, reason] of cases) {
    const single = await read<EvaluationReply>(await world.ask(SINGLE, token, body));
    assert.deepEqual([single.decision, single.context?.reason], [reason === undefined, reason], JSON.stringify(body).slice(0, 120));
  }
  const batch = await read<{ readonly evaluations: readonly EvaluationReply[] }>(
    await world.ask(BATCH, token, { evaluations: cases.map(([body]) => body) }),
  );
  assert.deepEqual(
    batch.evaluations.map((reply) => reply.context?.reason),
    cases.map(([, reason]) => reason),
  );
});

test("reasons before any policy are coarse and closed", async () => {
  const world = await shared();
  const token = await world.serviceToken();
  const cases: readonly (readonly [unknown, string])[] = [
    [{ ...allowed, action: { name: "fly" } }, "unknown_action"],
    [{ ...allowed, resource: { type: "pages", id: "*" } }, "resource_id_required"],
    [{ ...allowed, resource: { type: "pages", id: "nowhere" } }, "resource_unresolved"],
    [{ ...allowed, subject: { type: "identity", id: "person:nobody" } }, "subject_unresolved"],
    [{ ...allowed, subject: { type: "user", id: "person:ben" } }, "subject_unresolved"],
    [{ ...allowed, subject: { type: "identity", id: "group:people-ops" } }, "subject_unresolved"],
    [{ ...allowed, context: { approval: { id: "x" } } }, "approval_invalid"],
    [{ subject: ben, action: { name: "tools/list" }, resource: { type: "tool", id: "system.health" } }, "unknown_action"],
  ];
  for (const [body, reason] of cases) {
    const reply = await read<EvaluationReply>(await world.ask(SINGLE, token, body));
    assert.equal(reply.decision, false);
    assert.equal(reply.context?.reason, reason, JSON.stringify(body));
  }
});

test("a tool that needs a strong sign-in says so, and takes only a fresh one", async () => {
  const world = await shared();
  const token = await world.serviceToken("crud");
  const seconds = Math.floor(world.clock.now.getTime() / 1000);
  const call = async (properties: Readonly<Record<string, unknown>>, agent?: string): Promise<EvaluationReply> =>
    read(
      await world.ask(SINGLE, token, {
        subject: { ...ben, properties: { tenant: "tenant:acme", ...properties } },
        action: { name: "tools/call" },
        resource: { type: "tool", id: "people.demo.update_salary", properties: { cost_usd: 0.01 } },
        ...(agent === undefined ? {} : { context: { agent } }),
      }),
    );
  for (const properties of [
    {},
    { acr: "strong" },
    { acr: "strong", auth_time: seconds - 301 },
    { acr: "strong", auth_time: seconds + 3600 },
    { acr: "pwd", auth_time: seconds },
    { amr: ["otp"], auth_time: seconds },
    { acr: "strong", auth_time: String(seconds) },
  ]) {
    const reply = await call(properties);
    assert.equal(reply.decision, false, JSON.stringify(properties));
    assert.equal(reply.context?.reason, "step_up_required");
    assert.deepEqual(reply.context?.obligations, [
      { id: "mfa", type: "step-up", properties: { acr_value: "strong", max_age_seconds: 300 } },
    ]);
  }
  const permit = await call({ acr: "strong", auth_time: seconds - 299 });
  assert.equal(permit.decision, true);
  const scope = permit.context?.obligations?.find((obligation) => obligation.id === "data-scope");
  assert.equal(scope?.properties?.["kind"], "data_scope");
  assert.deepEqual(scope?.properties?.["tenant_ids"], ["tenant:acme"]);
  const agent = await call({ acr: "phishing_resistant", auth_time: seconds }, "agent:hr-assistant");
  assert.equal(agent.decision, true);
  assert.equal((await call({}, "agent:hr-assistant")).context?.reason, "step_up_required");
});

test("an agent's call is refused for the first thing that it lacks", async (t) => {
  const world = await pdpWorld(t);
  const token = await world.serviceToken("crud");
  const call = async (agent: string, tool: string, cost = 0): Promise<string> => {
    const reply = await read<EvaluationReply>(
      await world.ask(SINGLE, token, {
        subject: ben,
        action: { name: "tools/call" },
        resource: { type: "tool", id: tool, properties: { cost_usd: cost } },
        context: { agent },
      }),
    );
    return reply.decision ? "permit" : (reply.context?.reason ?? "");
  };
  assert.equal(await call("agent:hr-assistant", "people.demo.list_employees", 5), "permit");
  assert.equal(await call("agent:hr-assistant", "people.demo.list_employees", 5.000001), "budget_exhausted");
  assert.equal(await call("agent:hr-assistant", "sallyport.local.search_identities"), "capability_missing");
  assert.equal(await call("agent:hr-assistant", "memory.demo.read_graph"), "capability_missing");
  assert.equal(await call("agent:reporter", "people.demo.list_employees"), "delegation_inactive");
  assert.equal(await call("agent:unknown", "people.demo.list_employees"), "delegation_required");
  assert.equal(await call("agent:hr-assistant", "people.demo.nothing"), "resource_unresolved");
  await world.world.sql("update membership.meter set used_steps = limit_steps where delegation_id = 'delegation:ben-hr'");
  assert.equal(await call("agent:hr-assistant", "people.demo.list_employees"), "steps_exhausted");
  await world.world.sql("update membership.edge set digest = 'other' where kind = 'HAS_CAPABILITY' and src = 'agent:hr-assistant'");
  await world.world.sql("update membership.meter set used_steps = 0 where delegation_id = 'delegation:ben-hr'");
  assert.equal(await call("agent:hr-assistant", "people.demo.list_employees"), "definition_drifted");
  assert.equal(await call("agent:hr-assistant", "system.health"), "permit");
});

test("a salary above the limit, or one that is not stated as a number, needs an approval", async () => {
  const world = await shared();
  const token = await world.serviceToken("crud");
  const set = async (context: unknown): Promise<string> => {
    const reply = await read<EvaluationReply>(
      await world.ask(SINGLE, token, {
        subject: ben,
        action: { name: "update_salary" },
        resource: { type: "employee", id: "e1" },
        context,
      }),
    );
    return reply.decision ? "permit" : (reply.context?.reason ?? "");
  };
  assert.equal(await set({ claimed: { salary: 150_000 } }), "permit");
  assert.equal(await set({ claimed: { salary: 150_001 } }), "approval_required");
  assert.equal(await set({ claimed: { salary: "1" } }), "approval_required");
  assert.equal(await set({ claimed: { salary: 1.5 } }), "approval_required");
  assert.equal(await set({}), "approval_required");
});

test("a foreign enforcement point must say which obligations it can meet; detail none gives it the bare decision", async (t) => {
  const world = await pdpWorld(t, { settings: { PDP_ANSWER_DETAIL: "none" } });
  const foreign = await world.identity.tokenFor({ sub: "service:pep", tenant: "tenant:acme", scopes: ["authzen.pep"] });
  const call = (context: unknown) => ({
    subject: ben,
    action: { name: "tools/call" },
    resource: { type: "tool", id: "people.demo.list_employees" },
    context,
  });
  assert.deepEqual(await read(await world.ask(SINGLE, foreign, allowed)), { decision: true });
  assert.equal((await read<EvaluationReply>(await world.ask(SINGLE, foreign, call({})))).decision, false);
  const met = await read<EvaluationReply>(await world.ask(SINGLE, foreign, call({ supported_obligations: ["data_scope"] })));
  assert.equal(met.decision, true);
  assert.equal(met.context?.decision_id, undefined);
  assert.equal(met.context?.obligations?.[0]?.id, "data-scope");
  const instance = await read<EvaluationReply>(await world.ask(SINGLE, await world.serviceToken(), allowed));
  assert.notEqual(instance.context?.decision_id, undefined);
});

test("services of Sallyport are told the moment at which an endpoint of the tool protocol was decided, which the next graph ends; nobody else is", async (t) => {
  let graphVersion = 1;
  const plain = await pdpWorld(t);
  const own = readerFacts(plain.world);
  const facts: FactSource = { ...own, gather: async (asks) => ({ ...(await own.gather(asks)), graphVersion }) };
  const world = await pdpWorld(t, { over: plain, parts: { facts } });
  const entry = { subject: ben, action: { name: "tools/list" }, resource: { type: "mcp_server", id: "http://localhost:8080/mcp" } };
  const instance = await world.serviceToken("crud");
  const momentOf = async (token: string, body: object): Promise<unknown> =>
    (await read<EvaluationReply>(await world.ask(SINGLE, token, body))).context?.moment;
  const moment = await momentOf(instance, entry);
  assert.equal(typeof moment, "string");
  assert.equal(await momentOf(instance, entry), moment);
  assert.equal(await momentOf(instance, allowed), undefined, "of nothing else");
  const foreign = await world.identity.tokenFor({ sub: "service:pep", tenant: "tenant:acme", scopes: ["authzen.pep"] });
  assert.equal(await momentOf(foreign, entry), undefined);
  graphVersion = 2;
  assert.notEqual(await momentOf(instance, entry), moment);
});

test("services of Sallyport are told which policies decided about a secret; nobody else is, and of nothing else", async () => {
  const world = await shared();
  const secret = { subject: ben, action: { name: "read" }, resource: { type: "secret", id: "yaml://secret/x" } };
  const versionOf = async (token: string, body: object): Promise<unknown> =>
    (await read<EvaluationReply>(await world.ask(SINGLE, token, body))).context?.policy_version;
  const instance = await world.serviceToken("secrets");
  assert.equal(typeof (await versionOf(instance, secret)), "string");
  assert.equal(await versionOf(instance, allowed), undefined);
  const foreign = await world.identity.tokenFor({ sub: "service:pep", tenant: "tenant:acme", scopes: ["authzen.pep"] });
  assert.equal(await versionOf(foreign, secret), undefined);
});

test("a foreign enforcement point is limited in rate, services of Sallyport are not", async (t) => {
  const world = await pdpWorld(t, { settings: { PDP_CALLS_PER_SECOND: "1" } });
  const foreign = await world.identity.tokenFor({ sub: "service:pep", tenant: "tenant:acme", scopes: ["authzen.pep"] });
  const statuses = [];
  for (let n = 0; n < 3; n++) statuses.push((await world.ask(SINGLE, foreign, allowed)).status);
  assert.deepEqual(statuses, [200, 200, 429]);
  world.clock.now = new Date(world.clock.now.getTime() + 1000);
  const again = await world.identity.tokenFor({ sub: "service:pep", tenant: "tenant:acme", scopes: ["authzen.pep"] });
  assert.equal((await world.ask(SINGLE, again, allowed)).status, 200);
  const instance = await world.serviceToken();
  for (let n = 0; n < 4; n++) assert.equal((await world.ask(SINGLE, instance, allowed)).status, 200);
});

test("metadata names this decision point and its endpoints, to anybody", async () => {
  const world = await shared();
  const body = await read<Record<string, unknown>>(await world.ask("/.well-known/authzen-configuration", undefined));
  assert.equal(body["policy_decision_point"], "http://localhost:8082");
  assert.equal(body["access_evaluation_endpoint"], "http://localhost:8082/access/v1/evaluation");
  assert.equal(body["access_evaluations_endpoint"], "http://localhost:8082/access/v1/evaluations");
  assert.equal(body["search_subject_endpoint"], "http://localhost:8082/access/v1/search/subject");
  assert.equal(body["search_resource_endpoint"], "http://localhost:8082/access/v1/search/resource");
  assert.equal(body["search_action_endpoint"], "http://localhost:8082/access/v1/search/action");
  assert.equal("capabilities" in body, false, "a list of nothing is left out");
  const keys = await read<JSONWebKeySet>(await world.ask("/.well-known/jwks.json", undefined));
  const { payload, protectedHeader } = await jwtVerify(String(body["signed_metadata"]), createLocalJWKSet(keys));
  assert.deepEqual([protectedHeader.alg, payload.iss], ["ES256", "http://localhost:8082"]);
  const { signed_metadata: _jwt, ...plain } = body;
  const { iss: _iss, iat: _iat, ...claims } = payload;
  assert.deepEqual(claims, plain);
  assert.equal(
    keys.keys.some((key) => "d" in key),
    false,
  );
});

test("the key of the metadata outlives a restart, and is kept sealed", async (t) => {
  const first = await pdpWorld(t);
  const keysOf = async (world: Awaited<ReturnType<typeof pdpWorld>>) =>
    read<JSONWebKeySet>(await world.ask("/.well-known/jwks.json", undefined));
  const again = await pdpWorld(t, { over: first });
  assert.deepEqual(await keysOf(again), await keysOf(first));
  const [row] = await first.database.run(keptKey);
  assert.ok(row !== undefined && !Buffer.from(row.sealed_private).toString("latin1").includes('"d"'));
  const moved = await pdpWorld(t, { over: first, parts: { secrets: testIdentity().secrets } });
  assert.notDeepEqual(await keysOf(moved), await keysOf(first), "another instance secret, another key");
});

test("health is alive, ready with its parts, and names the part that is not", async (t) => {
  const world = await shared();
  assert.equal((await world.ask("/health/live", undefined)).status, 200);
  assert.equal((await world.ask("/health/ready", undefined)).status, 200);
  const without = await pdpWorld(t, {
    parts: { facts: { gather: async () => ({ graphVersion: 0, facts: [] }), ready: async () => false } },
  });
  const response = await without.ask("/health/ready", undefined);
  assert.equal(response.status, 503);
  assert.deepEqual((await read<{ reasons: string[] }>(response)).reasons, ["facts"]);
});

test("a batch of a hundred is decided in one call of the facts and recorded once", async (t) => {
  let calls = 0;
  const world = await shared();
  const counted = await pdpWorld(t, {
    parts: {
      facts: {
        gather: (asks) => {
          calls += 1;
          return readerFacts(world.world).gather(asks);
        },
        ready: async () => true,
      },
    },
  });
  const evaluations = Array.from({ length: 100 }, (_, index) => ({
    resource: { type: "pages", id: index % 2 === 0 ? "people" : "operations" },
  }));
  const reply = await read<{ readonly evaluations: readonly EvaluationReply[] }>(
    await counted.ask(BATCH, await counted.serviceToken(), { subject: ben, action: view, evaluations }),
  );
  assert.equal(reply.evaluations.length, 100);
  assert.equal(calls, 1);
});
