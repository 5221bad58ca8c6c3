import assert from "node:assert/strict";
import { test } from "node:test";
import { endlessAnswer } from "#testing/endless-answer.ts";
import { decidingPeer, sharedDatabase, testGateway } from "#testing/gateway.ts";
import { pdpWorld } from "#testing/pdp.ts";

const database = sharedDatabase();

type Body = Record<string, unknown> & {
  evaluations?: unknown;
  results?: Record<string, { decision: boolean; context?: Record<string, unknown> }>;
};

const world = async (t: Parameters<typeof testGateway>[0], decide: Parameters<typeof decidingPeer>[0] = (type) => type === "pages") => {
  const pdp = decidingPeer(decide);
  const made = await testGateway(t, { database: await database(), peers: { pdp: pdp.peer } });
  const ben = await made.signIn("person:ben", { acr: "strong", authTime: 1_700_000_000 });
  const post = async (path: string, body: unknown, headers: Readonly<Record<string, string>> = ben.headers) => {
    const response = await made.fetch(path, { method: "POST", headers, body: typeof body === "string" ? body : JSON.stringify(body) });
    const text = await response.text();
    return { status: response.status, headers: response.headers, text, body: JSON.parse(text) as Body & { code?: string } };
  };
  const one = (body: unknown, headers?: Readonly<Record<string, string>>) => post("/access/v1/evaluation", body, headers);
  const many = (body: unknown, headers?: Readonly<Record<string, string>>) => post("/access/v1/evaluations", body, headers);
  const asked = () =>
    JSON.parse(pdp.seen.at(-1)?.body ?? "null") as Record<string, unknown> & {
      evaluations: Record<string, unknown>[];
      context: Record<string, unknown>;
    };
  return { pdp, made, ben, one, many, asked };
};

const viewAll = (type: string) => ({ resource: { type }, action: { name: "view_all" } });

test("a single evaluation answers 200 for permit and deny, never kept", async (t) => {
  const { one, ben } = await world(t);
  const permit = await one(viewAll("pages"));
  assert.deepEqual([permit.status, permit.body["decision"]], [200, true]);
  const deny = await one(viewAll("tasks"));
  assert.deepEqual([deny.status, deny.body["decision"], (deny.body["context"] as { reason: string }).reason], [200, false, "not_granted"]);
  assert.equal(deny.headers.get("cache-control"), "no-store");
  assert.equal(deny.headers.get("x-decision-id"), (deny.body["context"] as { decision_id: string }).decision_id);
  const headers = { ...ben.headers, "x-request-id": "r 7" };
  assert.equal((await one(viewAll("pages"), headers)).headers.get("x-request-id"), "r 7");
  assert.equal((await one("{}", headers)).headers.get("x-request-id"), "r 7", "on errors too");
});

test("whatever a client says of itself is dropped and counted, and the call goes on", async (t) => {
  const { one, asked, made } = await world(t);
  const forged = {
    ...viewAll("pages"),
    subject: { type: "identity", id: "person:ada", properties: { tenant: "tenant:globex" } },
    resource: { type: "pages", properties: { owner: "person:ben", tenant: "tenant:globex" } },
    action: { name: "view_all", properties: { assigned: true } },
    context: {
      agent: "agent:x",
      could: true,
      tool: { id: "x" },
      facts: {},
      approval: {},
      delegation: "d",
      scopes: ["authzen.pep"],
      claimed: { a: 1 },
      client: {},
      tenant: "x",
      supported_obligations: [],
      shown_call: { arguments: { salary: 1 }, masked: [] },
      ui: { app: "web", module: "pages" },
      resourceAttributes: { title: "T" },
      own: 7,
    },
  };
  assert.equal((await one(forged)).body["decision"], true);
  const question = asked();
  assert.deepEqual(question["subject"], {
    type: "identity",
    id: "person:ben",
    properties: { tenant: "tenant:acme", amr: ["pwd"], acr: "strong", auth_time: 1_700_000_000 },
  });
  assert.deepEqual(question["resource"], { type: "pages", id: "*" });
  assert.deepEqual(question["action"], { name: "view_all" });
  const { scopes, correlation_id: _id, ...rest } = question.context;
  assert.deepEqual(rest, {
    ui: { app: "web", module: "pages" },
    resourceAttributes: { title: "T" },
    own: 7,
    claimed: { assigned: true, owner: "person:ben", tenant: "tenant:globex" },
    showing: true,
  });
  assert.ok(!(scopes as string[]).includes("authzen.pep"));
  assert.equal(await made.counted("bff_security_events_total", { event_type: "authz_subject_override" }), 1);
  assert.equal(await made.counted("bff_security_events_total", { event_type: "authz_context_override" }), 1);
});

test("a batch keeps the order, echoes keys, and adds a map only when a key was sent", async (t) => {
  const { many } = await world(t);
  const plain = await many({ evaluations: [viewAll("pages"), viewAll("tasks")] });
  assert.deepEqual(Object.keys(plain.body), ["evaluations"]);
  assert.deepEqual(
    (plain.body.evaluations as { decision: boolean; key?: string }[]).map((item) => [item.decision, item.key]),
    [
      [true, undefined],
      [false, undefined],
    ],
  );
  const keyed = await many({ evaluations: [{ key: "42", ...viewAll("pages") }, viewAll("pages"), { key: "grid:1", ...viewAll("tasks") }] });
  assert.deepEqual(
    (keyed.body.evaluations as { key?: string }[]).map((item) => item.key),
    ["42", undefined, "grid:1"],
  );
  assert.deepEqual([keyed.body.results?.["42"]?.decision, keyed.body.results?.["grid:1"]?.decision], [true, false]);
});

test("keys that are names of prototypes are keys like any other", async (t) => {
  const { many } = await world(t);
  const keys = ["__proto__", "constructor", "toString", "42", "grid:1"];
  const array = await many(`{"evaluations":[${keys.map((key) => JSON.stringify({ key, ...viewAll("pages") })).join(",")}]}`);
  const object = await many(
    `{"evaluations":{${keys.map((key) => `${JSON.stringify(key)}:${JSON.stringify(viewAll("pages"))}`).join(",")}}}`,
  );
  for (const { text } of [array, object]) {
    const read = JSON.parse(text, (key, value: unknown) => (key === "__proto__" ? undefined : value)) as Body;
    assert.deepEqual(Object.keys(read.results ?? {}).toSorted(), keys.filter((key) => key !== "__proto__").toSorted());
    assert.match(text, /"__proto__":\{"decision":true/);
  }
  assert.equal(Object.hasOwn(Object.prototype, "decision"), false);
});

test("a keyed object is answered with an object of the same keys", async (t) => {
  const { many } = await world(t);
  const { body } = await many({ evaluations: { a: viewAll("pages"), b: viewAll("tasks") }, context: { ui: { app: "x" } } });
  const evaluations = body.evaluations as Record<string, { decision: boolean }>;
  assert.deepEqual([evaluations["a"]?.decision, evaluations["b"]?.decision], [true, false]);
  assert.deepEqual(body.results, evaluations);
});

test("top-level members are defaults; an item's member takes the place of the whole", async (t) => {
  const { many, asked } = await world(t);
  await many({
    action: { name: "view_all" },
    context: { ui: { app: "a" } },
    evaluations: [{ resource: { type: "pages" } }, { resource: { type: "pages" }, context: { own: 1 } }],
  });
  const contexts = asked().evaluations.map((item) => item["context"] as Record<string, unknown>);
  assert.deepEqual(
    [contexts[0]?.["ui"], contexts[0]?.["own"], contexts[1]?.["ui"], contexts[1]?.["own"]],
    [{ app: "a" }, undefined, undefined, 1],
  );
});

test("without items a batch is a single evaluation", async (t) => {
  const { many, pdp } = await world(t);
  for (const body of [viewAll("pages"), { ...viewAll("pages"), evaluations: [] }, { ...viewAll("pages"), evaluations: {} }]) {
    const answer = await many(body);
    assert.deepEqual([answer.status, answer.body["decision"], answer.body.evaluations], [200, true, undefined]);
    assert.equal(pdp.seen.at(-1)?.path, "/access/v1/evaluation");
  }
});

test("a wrong item is answered in its place, and the others are decided", async (t) => {
  const { many } = await world(t);
  const { status, body } = await many({
    evaluations: [
      viewAll("pages"),
      { resource: { type: "pages" } },
      7,
      { ...viewAll("pages"), resource: { type: "a b" } },
      viewAll("pages"),
    ],
  });
  assert.equal(status, 200);
  const items = body.evaluations as { decision: boolean; context?: { error?: { status: number } } }[];
  assert.deepEqual(
    items.map((item) => [item.decision, item.context?.error?.status]),
    [
      [true, undefined],
      [false, 400],
      [false, 400],
      [false, 400],
      [true, undefined],
    ],
  );
});

test("without an id a question is about all of the type, whatever the pair", async (t) => {
  const { one, asked } = await world(t);
  for (const action of ["view_all", "view"]) {
    await one({ resource: { type: "pages" }, action: { name: action } });
    assert.deepEqual(asked()["resource"], { type: "pages", id: "*" });
  }
  await one({ resource: { type: "unheard", id: "x" }, action: { name: "of" } });
  assert.deepEqual(asked()["resource"], { type: "unheard", id: "x" });
});

for (const [semantic, expected, results] of [
  ["execute_all", [true, false, false, true], { a: true, b: false, c: false, d: true }],
  ["deny_on_first_deny", [true, false], { a: true, b: false, c: false, d: false }],
  ["permit_on_first_permit", [true], { a: true, b: false, c: false, d: false }],
] as const)
  test(`semantic ${semantic} cuts the array as the standard says, and the map keeps every key`, async (t) => {
    const { many, pdp } = await world(t);
    const decide = pdp.answer;
    pdp.answer = async (request) => {
      const sent = JSON.parse(pdp.seen.at(-1)?.body ?? "") as { options: { evaluations_semantic: string } };
      assert.equal(sent.options.evaluations_semantic, semantic);
      const whole = (await (await decide(request)).json()) as { evaluations: { decision: boolean }[] };
      const stop = whole.evaluations.findIndex((item) =>
        semantic === "deny_on_first_deny" ? !item.decision : semantic === "permit_on_first_permit" && item.decision,
      );
      return Response.json({ evaluations: stop === -1 ? whole.evaluations : whole.evaluations.slice(0, stop + 1) });
    };
    const evaluations = [
      ["a", viewAll("pages")],
      ["b", viewAll("tasks")],
      ["c", { resource: { type: "pages" } }],
      ["d", viewAll("pages")],
    ] as const;
    const { body } = await many({
      options: { evaluations_semantic: semantic },
      evaluations: evaluations.map(([key, item]) => ({ key, ...item })),
    });
    assert.deepEqual(
      (body.evaluations as { decision: boolean }[]).map((item) => item.decision),
      expected,
    );
    assert.deepEqual(Object.fromEntries(Object.entries(body.results ?? {}).map(([key, item]) => [key, item.decision])), results);
    if (semantic !== "execute_all") assert.deepEqual(body.results?.["d"]?.context, { reason: "not_evaluated" });
  });

const deep = (depth: number): string => `${'{"a":'.repeat(depth)}1${"}".repeat(depth)}`;
const refusals: readonly (readonly [what: string, body: string, status: number, code: string])[] = [
  [
    "an id of *",
    JSON.stringify({ evaluations: [{ resource: { type: "pages", id: "*" }, action: { name: "view" } }] }),
    400,
    "reserved_resource_id",
  ],
  [
    "equal keys",
    JSON.stringify({
      evaluations: [
        { key: "a", ...viewAll("pages") },
        { key: "a", ...viewAll("tasks") },
      ],
    }),
    400,
    "duplicate_key",
  ],
  ["a key inside a keyed item", JSON.stringify({ evaluations: { a: { key: "b", ...viewAll("pages") } } }), 400, "invalid_request"],
  ["an empty key", JSON.stringify({ evaluations: { "": viewAll("pages") } }), 400, "invalid_request"],
  ["a key of 257 characters", JSON.stringify({ evaluations: [{ key: "k".repeat(257), ...viewAll("pages") }] }), 400, "invalid_request"],
  ["201 items", JSON.stringify({ evaluations: Array.from({ length: 201 }, () => viewAll("pages")) }), 413, "too_many_evaluations"],
  ["10,000 items", JSON.stringify({ evaluations: Array.from({ length: 10_000 }, () => 1) }), 413, "too_many_evaluations"],
  [
    "a repeated member",
    '{"evaluations":[{"resource":{"type":"pages","type":"tasks"},"action":{"name":"view_all"}}]}',
    400,
    "duplicate_member",
  ],
  ["a body nested 33 deep", deep(33), 400, "body_unreadable"],
  ["a body nested 10,000 deep", deep(10_000), 400, "body_unreadable"],
  ["a body over 256 KiB", JSON.stringify({ evaluations: [], pad: "x".repeat(262_145) }), 413, "body_too_large"],
  ["no JSON", "evaluations", 400, "body_unreadable"],
  ["no object", "[]", 400, "invalid_request"],
  [
    "an unknown semantic",
    JSON.stringify({ options: { evaluations_semantic: "all" }, evaluations: [viewAll("pages")] }),
    400,
    "invalid_request",
  ],
];
test("bad batches are refused whole, and nothing is asked", async (t) => {
  const { many, pdp } = await world(t);
  for (const [what, body, status, code] of refusals)
    await t.test(what, async () => {
      const answer = await many(body);
      assert.deepEqual([answer.status, answer.body.code], [status, code]);
      assert.deepEqual(pdp.seen, []);
    });
});

test("bad single evaluations are 400, as the standard has it", async (t) => {
  const { one, ben, made } = await world(t);
  for (const body of [
    "{}",
    '{"resource":{"type":"pages"}}',
    '{"resource":{"type":"a b"},"action":{"name":"x"}}',
    JSON.stringify({ resource: { type: "pages", id: "a\u0007" }, action: { name: "view" } }),
  ]) {
    const answer = await one(body);
    assert.deepEqual([answer.status, answer.body.code], [400, "invalid_request"], body);
  }
  assert.equal((await one(viewAll("pages"), { ...ben.headers, "content-type": "text/plain" })).status, 415);
  assert.equal((await one(viewAll("pages"), { ...ben.headers, "x-request-id": "x".repeat(257) })).status, 400);
  assert.equal((await made.fetch("/access/v1/evaluation", { method: "OPTIONS" })).status, 204);
  assert.equal((await made.fetch("/access/v1/evaluation", { method: "POST", body: "{}" })).status, 401);
  assert.equal((await one(viewAll("pages"), { ...ben.headers, authorization: "Bearer x" })).body.code, "ambiguous_credentials");
});

const many = (items: unknown[]) => Response.json({ evaluations: items });
const d = { decision: true, context: { decision_id: "d" } };
const hostile: readonly (readonly [what: string, answer: () => Response | Promise<Response>, status: number, code: string])[] = [
  ['decision "true"', () => many([{ decision: "true" }, d]), 502, "pdp_bad_answer"],
  ["decision 1", () => many([{ decision: 1 }, d]), 502, "pdp_bad_answer"],
  ["decision null", () => many([{ decision: null }, d]), 502, "pdp_bad_answer"],
  ["no decision", () => many([{}, d]), 502, "pdp_bad_answer"],
  ["one item less", () => many([d]), 502, "pdp_bad_answer"],
  ["one item more", () => many([d, d, d]), 502, "pdp_bad_answer"],
  ["an object for the array", () => Response.json({ evaluations: { a: d } }), 502, "pdp_bad_answer"],
  ["a context that is none", () => many([{ decision: true, context: "x" }, d]), 502, "pdp_bad_answer"],
  ["HTML with 200", () => new Response("<html>", { headers: { "content-type": "text/html" } }), 502, "pdp_bad_answer"],
  [
    "JSON as text",
    () => new Response(JSON.stringify({ evaluations: [d, d] }), { headers: { "content-type": "text/plain" } }),
    502,
    "pdp_bad_answer",
  ],
  ["400", () => Response.json({ code: "invalid_request" }, { status: 400 }), 502, "pdp_bad_answer"],
  ["5 MiB", () => many([{ ...d, pad: "x".repeat(5 * 1_048_576) }, d]), 502, "pdp_bad_answer"],
  ["500", () => new Response("{}", { status: 500 }), 503, "pdp_unavailable"],
  ["429", () => new Response("{}", { status: 429 }), 503, "pdp_unavailable"],
  ["503 twice", () => new Response("{}", { status: 503 }), 503, "pdp_unavailable"],
  ["no connection", () => Promise.reject(new Error("ECONNREFUSED")), 503, "pdp_unavailable"],
];
test("a decision point that cannot be trusted never permits", async (t) => {
  const world_ = await world(t);
  for (const [what, answer, status, code] of hostile)
    await t.test(what, async () => {
      world_.pdp.answer = answer;
      const got = await world_.many({ evaluations: [viewAll("pages"), viewAll("tasks")] });
      assert.deepEqual([got.status, got.body.code], [status, code]);
      if (status === 503) assert.equal(got.headers.get("retry-after"), "1");
    });
});

test("a decision point that is silent, or never ends its answer, is given up in time", async (t) => {
  const pdp = decidingPeer(() => true);
  const made = await testGateway(t, { database: await database(), peers: { pdp: pdp.peer }, settings: { PDP_TIMEOUT_MS: "100" } });
  const { headers } = await made.signIn("person:ben");
  for (const answer of [() => new Promise<Response>(() => {}), () => endlessAnswer()]) {
    pdp.answer = answer;
    const response = await made.fetch("/access/v1/evaluation", { method: "POST", headers, body: JSON.stringify(viewAll("pages")) });
    assert.deepEqual([response.status, ((await response.json()) as { code: string }).code], [503, "pdp_unavailable"]);
  }
});

test("an array is cut exactly where its semantic cuts, or it is no answer", async (t) => {
  const { many: batch, pdp } = await world(t);
  const no = { decision: false, context: { decision_id: "d" } };
  const cases: readonly (readonly [semantic: string, answered: readonly unknown[], status: number])[] = [
    ["deny_on_first_deny", [d, no], 200],
    ["deny_on_first_deny", [d, d, d], 200],
    ["deny_on_first_deny", [no], 200],
    ["deny_on_first_deny", [d, d], 502],
    ["deny_on_first_deny", [no, d], 502],
    ["deny_on_first_deny", [d, no, d], 502],
    ["deny_on_first_deny", [], 502],
    ["permit_on_first_permit", [no, d], 200],
    ["permit_on_first_permit", [no, no, no], 200],
    ["permit_on_first_permit", [no, no], 502],
    ["permit_on_first_permit", [d, d], 502],
    ["execute_all", [d, no], 502],
    ["execute_all", [no, no, no], 200],
  ];
  for (const [semantic, answered, status] of cases) {
    pdp.answer = () => Response.json({ evaluations: answered });
    const got = await batch({
      options: { evaluations_semantic: semantic },
      evaluations: [viewAll("pages"), viewAll("tasks"), viewAll("tools")],
    });
    assert.equal(got.status, status, `${semantic} ${JSON.stringify(answered)}`);
  }
});

test("a decision point that keeps failing is left alone for five seconds, then tried again", async (t) => {
  const clock = { now: new Date() };
  const pdp = decidingPeer(() => true);
  const made = await testGateway(t, { database: await database(), peers: { pdp: pdp.peer }, now: () => clock.now });
  const { headers } = await made.signIn("person:ben");
  const ask = async () =>
    (await made.fetch("/access/v1/evaluation", { method: "POST", headers, body: JSON.stringify(viewAll("pages")) })).status;
  const decide = pdp.answer;
  pdp.answer = () => new Response("{}", { status: 500 });
  for (let i = 0; i < 5; i += 1) assert.equal(await ask(), 503);
  const asked = pdp.seen.length;
  pdp.answer = decide;
  assert.equal(await ask(), 503);
  assert.equal(pdp.seen.length, asked, "nothing was asked");
  clock.now = new Date(clock.now.getTime() + 5_000);
  assert.equal(await ask(), 200);
  assert.equal(await ask(), 200);
});

test("one answer of 503 is asked again, and the second answer counts", async (t) => {
  const { one, pdp } = await world(t);
  const decide = pdp.answer;
  let calls = 0;
  pdp.answer = (request) => (++calls === 1 ? new Response("{}", { status: 503 }) : decide(request));
  assert.equal((await one(viewAll("pages"))).body["decision"], true);
  assert.equal(calls, 2);
});

test("a bearer asks as itself, with its agent; a claimed subject changes nothing", async (t) => {
  const { one, asked, made } = await world(t);
  const token = await made.identity.tokenFor({
    sub: "person:ben",
    tenant: "tenant:acme",
    scopes: ["mcp.tools.invoke"],
    agent: "agent:hr-assistant",
  });
  const answer = await one(
    { ...viewAll("pages"), subject: { type: "identity", id: "person:ada" } },
    { authorization: `Bearer ${token}`, "content-type": "application/json" },
  );
  assert.equal(answer.body["decision"], true);
  assert.deepEqual([(asked()["subject"] as { id: string }).id, asked().context["agent"]], ["person:ben", "agent:hr-assistant"]);
});

test("an enforcement point of its own is passed through in its own name, as plain AuthZEN", async (t) => {
  const { one, many: batch, pdp, made } = await world(t);
  const token = await made.identity.tokenFor({
    sub: "service:pep",
    tenant: "tenant:globex",
    scopes: ["authzen.pep"],
    clientId: "service:pep",
  });
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  const sent =
    '{ "subject":{"type":"identity","id":"person:eve"}, "resource":{"type":"pages","id":"*"}, "action":{"name":"view_all"}, "key":"x" }';
  const answer = await one(sent, headers);
  assert.deepEqual([answer.status, answer.body["decision"], answer.body["key"]], [200, true, undefined]);
  const seen = pdp.seen.at(-1);
  assert.equal(seen?.body, sent, "byte for byte");
  const caller = await made.identity.verifierFor("http://localhost:8082")(
    new Request("http://x", { headers: { authorization: seen?.headers.get("authorization") ?? "" } }),
  );
  assert.deepEqual([caller.sub, caller.tenant, caller.isInternalService], ["service:pep", "tenant:globex", false]);
  const reserved = await batch(
    { evaluations: [{ subject: { type: "identity", id: "person:eve" }, ...viewAll("pages"), context: { agent: "agent:x" } }] },
    headers,
  );
  assert.deepEqual([reserved.status, reserved.body.code], [400, "reserved_context_member"]);
  const without = await one(viewAll("pages"), headers);
  assert.deepEqual([without.status, without.body.code], [400, "invalid_request"]);
  const nothing = await one({}, headers);
  const wanted = ["/subject", "/action", "/resource"].map((path) => ({ path, message: "is missing" }));
  assert.deepEqual(nothing.body["errors"], wanted, "all that is missing is said at once");
  pdp.answer = () => Response.json({ code: "invalid_request", errors: [{ path: "/resource/id", message: "is missing" }] }, { status: 400 });
  const passed = await one(sent, headers);
  assert.deepEqual(
    [passed.status, passed.body.code, passed.body["errors"]],
    [400, "invalid_request", [{ path: "/resource/id", message: "is missing" }]],
  );
});

test("other paths of the decision point are reached with the caller's own rights, evaluations never", async (t) => {
  const { made, ben, pdp } = await world(t);
  pdp.answer = () => Response.json({ decisions: [] });
  for (const path of ["/access/v1/decisions?limit=5", "/api/pdp/decisions?limit=5"]) {
    assert.equal((await made.fetch(path, { headers: ben.cookie })).status, 200);
    const seen = pdp.seen.at(-1);
    assert.deepEqual([seen?.path, seen?.query], ["/access/v1/decisions", "?limit=5"]);
    const caller = await made.identity.verifierFor("http://localhost:8082")(
      new Request("http://x", { headers: { authorization: seen?.headers.get("authorization") ?? "" } }),
    );
    assert.equal(caller.sub, "person:ben");
    assert.ok(!caller.scopes.has("authzen.pep"));
  }
});

test("with the real decision point dan sees nothing but what is everybody's, and ben his screens", async (t) => {
  const point = await pdpWorld(t);
  const made = await testGateway(t, {
    database: await database(),
    identity: point.identity,
    peers: { pdp: (request) => point.service.fetch(request) },
  });
  const ask = async (subject: string) => {
    const { headers } = await made.signIn(subject);
    const evaluations = Object.fromEntries(["tools", "delegations", "pages", "tasks", "decisions"].map((type) => [type, viewAll(type)]));
    const response = await made.fetch("/access/v1/evaluations", { method: "POST", headers, body: JSON.stringify({ evaluations }) });
    const { results } = (await response.json()) as Body;
    return Object.entries(results ?? {}).flatMap(([key, item]) => (item.decision ? [key] : []));
  };
  assert.deepEqual(await ask("person:dan"), []);
  assert.deepEqual(await ask("person:ben"), ["tools", "delegations", "pages", "tasks"]);
  assert.deepEqual(await ask("person:ada"), ["tools", "delegations", "pages", "tasks", "decisions"]);
});

test("a pair that needs an id is denied without one by the decision point, which keeps a record of it", async (t) => {
  const point = await pdpWorld(t);
  const made = await testGateway(t, {
    database: await database(),
    identity: point.identity,
    peers: { pdp: (request) => point.service.fetch(request) },
  });
  const { headers } = await made.signIn("person:ben");
  const ask = async (path: string, body: unknown) =>
    (await (await made.fetch(path, { method: "POST", headers, body: JSON.stringify(body) })).json()) as {
      decision?: boolean;
      context?: { reason?: string; decision_id?: string };
      evaluations?: { decision: boolean; context: { reason?: string; decision_id?: string } }[];
    };
  const without = { resource: { type: "pages" }, action: { name: "view" } };
  const single = await ask("/access/v1/evaluation", without);
  const batch = await ask("/access/v1/evaluations", { evaluations: [viewAll("pages"), without, viewAll("tasks")] });
  assert.deepEqual(
    batch.evaluations?.map((item) => item.decision),
    [true, false, true],
  );
  for (const denied of [single, batch.evaluations?.[1]]) {
    assert.deepEqual([denied?.decision, denied?.context?.reason], [false, "resource_id_required"]);
    const token = await point.personToken("ben");
    const record = await point.ask(`/access/v1/decisions/${denied?.context?.decision_id}`, token);
    assert.equal(record.status, 200);
    assert.equal(((await record.json()) as { reason: string }).reason, "resource_id_required");
  }
});

const empty = Array.from({ length: 200 }, () => ({}));
const wide = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, at) => [`m${at}`, at]));
const inherited: readonly (readonly [what: string, body: unknown, status: number])[] = [
  ["a context of many members in each of 200", { ...viewAll("pages"), context: wide(60), evaluations: empty }, 413],
  ["15 kB of text in each of 200", { ...viewAll("pages"), context: { text: "a".repeat(15_000) }, evaluations: empty }, 413],
  ["so much in a few", { ...viewAll("pages"), context: { text: "a".repeat(15_000) }, evaluations: empty.slice(0, 20) }, 200],
  ["a little in each of 200", { ...viewAll("pages"), context: wide(20), evaluations: empty }, 200],
];
for (const [what, body, status] of inherited)
  test(`what a batch gives its items counts once for each of them: ${what}`, async (t) => {
    const { many, pdp } = await world(t);
    const answer = await many(body);
    assert.deepEqual([answer.status, answer.body.code], [status, status === 413 ? "body_too_large" : undefined]);
    assert.equal(pdp.seen.length, status === 413 ? 0 : 1);
  });

test("a default that is too large for any item is each item's error, and is looked at once", async (t) => {
  const { many, pdp } = await world(t);
  const answer = await many({
    ...viewAll("pages"),
    context: wide(9000),
    evaluations: [...empty.slice(1), viewAll("tasks"), { context: {} }].slice(-200),
  });
  assert.equal(answer.status, 200);
  const errors = (answer.body.evaluations as { context?: { error?: { message: string } } }[]).map((item) => item.context?.error?.message);
  assert.deepEqual(
    [new Set(errors.slice(0, -1)), errors.at(-1)],
    [new Set(["holds more than 16384 bytes of properties and context"]), undefined],
  );
  assert.equal(pdp.seen.length, 1);
});
