import assert from "node:assert/strict";
import { test } from "node:test";
import { forEachDatabase, testDatabase } from "#testing/database.ts";
import { statement } from "#store/database.ts";
import { until } from "#testing/until.ts";
import { wholeGraph } from "#membership/graph/tenant-scope.ts";
import { reserve } from "#membership/ledger/reserve.ts";
import { graphModules, servedWorld, type Rule, type ServedWorld } from "#testing/membership.ts";

const BASE = "/api/v1/delegations";
const SEARCH = "sallyport.local.search_identities";
const people = ["people.demo.list_employees", "people.demo.get_employee", "people.demo.update_salary"];

/** As the demo's policies: one's own, and the platform administrator all; who controls an agent may delegate to it. */
const demoRule: Rule = ({ sub, agent, type, action, id }) => {
  if (agent !== undefined) return "forbidden";
  if (type !== "delegations") return "not_granted";
  if (action === "view_all") return sub !== "person:dan";
  if (action === "create")
    return (sub === "person:ben" && id === "agent:hr-assistant") || (sub === "person:cleo" && id === "agent:reporter");
  return sub === "person:ada" || (id === "delegation:cleo-rep" ? sub === "person:cleo" : sub === "person:ben");
};
const draft = (more: Record<string, unknown> = {}): Record<string, unknown> => ({
  agent_id: "agent:hr-assistant",
  capabilities: [...people, SEARCH],
  budget_usd: 2.5,
  max_steps: 10,
  purpose: "Find people",
  ...more,
});
const key = (text: string): { headers: Record<string, string> } => ({ headers: { "idempotency-key": text } });
const create = (world: ServedWorld, body: unknown, idempotencyKey: string = crypto.randomUUID(), as = "ben") =>
  world.call(as, "POST", BASE, { body, ...key(idempotencyKey) });

test("creating tells what it adds, writes one version, one event, one audit row, and opens the tool", async (t) => {
  const world = await servedWorld(t, await testDatabase(t, graphModules), { rule: demoRule });
  const whatIf = await world.call("ben", "POST", `${BASE}/what-if`, { body: draft() });
  assert.equal(whatIf.status, 200);
  assert.deepEqual(whatIf.body.tools, { added: [SEARCH], kept: people.toSorted(), removed: [] });
  assert.deepEqual(whatIf.body.audiences, { added: [], removed: [] });
  assert.deepEqual(whatIf.body.tenant_ids, ["tenant:acme"]);
  assert.deepEqual(
    whatIf.body.columns_masked,
    { "employee.birth_date": "year", "employee.salary": "null" },
    "nobody lets the agent see more: what the tools hide, they hide from it",
  );
  assert.deepEqual(whatIf.body.step_up_tools, ["people.demo.update_salary"]);
  assert.deepEqual(whatIf.body.warnings, []);

  const before = (await world.call("ben", "GET", "/api/v1/graph/version")).body.version as number;
  const published = (await world.published()).length;
  const made = await create(world, draft({ what_if_digest: whatIf.body.what_if_digest }));
  assert.equal(made.status, 201);
  assert.equal(made.headers.get("etag"), '"1"');
  assert.equal(made.headers.get("x-graph-version"), String(before + 1));
  const { delegation_id: id } = made.body as { delegation_id: string };
  assert.match(id, /^delegation:[0-9a-f-]{36}$/);
  const { valid_from, expires_at, created_at, ...rest } = made.body;
  assert.deepEqual(rest, {
    delegation_id: id,
    delegator_id: "person:ben",
    delegator_name: "Ben Baker",
    agent_id: "agent:hr-assistant",
    agent_name: "HR assistant",
    status: "active",
    exhausted: false,
    capabilities: [...people, SEARCH].toSorted(),
    constraints: {},
    budget_usd: 2.5,
    max_steps: 10,
    used_usd: 0,
    used_steps: 0,
    held_usd: 0,
    held_steps: 0,
    lent_usd: 0,
    lent_steps: 0,
    purpose: "Find people",
    created_by: "person:ben",
  });
  assert.equal(valid_from, created_at);
  assert.ok(Math.abs(Date.parse(expires_at) - Date.now() - 30 * 86_400_000) < 60_000, "30 days unless said");

  assert.deepEqual(
    (await world.published()).slice(published).map(({ type, kind, visible_to, data }) => ({ type, kind, visible_to, data })),
    [
      {
        type: "delegation.granted",
        kind: "delegation",
        visible_to: ["person:ben"],
        data: { delegation_id: id, agent_id: "agent:hr-assistant", op: "granted", status: "active" },
      },
      { type: "graph.changed", kind: "graph", visible_to: null, data: { graph_version: before + 1, kinds: ["DELEGATES_TO"] } },
    ],
  );
  assert.equal(world.entries.length, 1);
  assert.deepEqual(
    { ...world.entries[0], correlationId: "", decisionId: "" },
    {
      tenant: "tenant:acme",
      category: "delegation",
      outcome: "ok",
      actor: { subject: "person:ben", kind: "person", client_id: "sallyport-web", amr: [], delegation_id: id },
      via: { service: "membership" },
      resource: { type: "delegations", id },
      decisionId: "",
      correlationId: "",
      data: {
        op: "granted",
        delegation_id: id,
        agent_id: "agent:hr-assistant",
        after: {
          status: "active",
          max_steps: 10,
          budget_usd: "2.500000",
          expires_at,
          capabilities: [...people, SEARCH].toSorted(),
          constraints: {},
        },
      },
    },
  );
  const pip = await world.call("service:pdp", "GET", "/api/v1/pip/membership/capabilities?user_id=person:ben&agent_id=agent:hr-assistant");
  assert.deepEqual(pip.body.capabilities, [...people, SEARCH].toSorted());
});

test("a create body is refused with every fault, and nothing is written", async (t) => {
  const world = await servedWorld(t, await testDatabase(t, graphModules), { rule: demoRule, environment: { DELEGATION_MAX_USD: "5" } });
  const issues: readonly (readonly [
    name: string,
    body: Record<string, unknown>,
    status: number,
    code: string,
    paths?: readonly string[],
  ])[] = [
    [
      "a tool the agent lacks",
      draft({ capabilities: [people[0], "memory.demo.read_graph", "x y"] }),
      422,
      "unprocessable",
      ["/capabilities/1", "/capabilities/2"],
    ],
    [
      "an end in the past and too much money",
      draft({ expires_at: "2001-01-01T00:00:00Z", budget_usd: 8 }),
      422,
      "unprocessable",
      ["/budget_usd", "/expires_at"],
    ],
    ["an end too far", draft({ expires_at: "2999-01-01T00:00:00Z" }), 422, "unprocessable", ["/expires_at"]],
    ["no end at all", draft({ expires_at: null }), 422, "unprocessable", ["/expires_at"]],
    [
      "an end before its beginning",
      draft({ valid_from: new Date(Date.now() + 9e8).toISOString(), expires_at: new Date(Date.now() + 8e8).toISOString() }),
      422,
      "unprocessable",
      ["/expires_at"],
    ],
    [
      "a beginning after the end it would get",
      draft({ valid_from: new Date(Date.now() + 40 * 86_400_000).toISOString() }),
      422,
      "unprocessable",
      ["/valid_from"],
    ],
    ["more than 6 decimals", draft({ budget_usd: 0.0000001 }), 422, "unprocessable", ["/budget_usd"]],
    ["no steps", draft({ max_steps: 0 }), 422, "invalid_body", ["/max_steps"]],
    ["half a step", draft({ max_steps: 1.5 }), 422, "invalid_body", ["/max_steps"]],
    ["negative money", draft({ budget_usd: -1 }), 422, "invalid_body", ["/budget_usd"]],
    ["no purpose", draft({ purpose: undefined }), 422, "invalid_body", ["/purpose"]],
    ["a control character", draft({ purpose: "a\u0000bc" }), 422, "invalid_body", ["/purpose"]],
    ["a NUL in a tool", draft({ capabilities: ["a\u0000"] }), 422, "invalid_body", ["/capabilities/0"]],
    ["an unknown member", draft({ budgt_usd: 1 }), 422, "unknown_member", ["/budgt_usd"]],
    ["an id of one's own", draft({ id: "delegation:mine" }), 422, "unprocessable", ["/id"]],
    ["an absent agent", draft({ agent_id: "agent:nobody" }), 404, "not_found"],
    ["something that is no agent", draft({ agent_id: "person:ada" }), 404, "not_found"],
    ["somebody else's delegation", draft({ delegator_id: "person:ada" }), 403, "access_denied"],
    ["an agent one does not control", draft({ agent_id: "agent:reporter" }), 403, "access_denied"],
    ["a digest of another day", draft({ what_if_digest: "stale" }), 409, "what_if_stale"],
  ];
  for (const [name, body, status, code, paths] of issues) {
    await t.test(name, async () => {
      const reply = await create(world, body);
      assert.deepEqual([reply.status, reply.body.code], [status, code]);
      if (paths !== undefined)
        assert.deepEqual(
          reply.body.errors.map((issue: { path: string }) => issue.path),
          paths,
        );
      assert.deepEqual(await world.sql("select count(*)::int as n from membership.delegation"), [{ n: 3 }]);
    });
  }
});

test("the graph decides what a what-if says: an uncontrolled agent, an inactive agent and an inactive person cannot be used", async (t) => {
  const world = await servedWorld(t, await testDatabase(t, graphModules));
  await world.sql("update membership.node set state = 'suspended' where id = 'agent:hr-assistant'");
  const inactive = await world.call("ben", "POST", `${BASE}/what-if`, { body: draft() });
  assert.deepEqual([inactive.status, inactive.body.errors[0].path], [422, "/agent_id"]);
  await world.sql("update membership.node set state = 'active' where id = 'agent:hr-assistant'");
  await world.sql("delete from membership.edge where kind = 'CONTROLLED_BY'");
  assert.equal((await create(world, draft())).body.code, "agent_uncontrolled");
  await world.sql("update membership.node set state = 'disabled' where id = 'person:ben'");
  assert.deepEqual(
    (await create(world, draft())).body.errors.map((issue: { path: string }) => issue.path),
    ["/delegator_id"],
  );
});

test("a what-if writes nothing, and its warnings say what a person should know", async (t) => {
  const world = await servedWorld(t, await testDatabase(t, graphModules), { rule: demoRule });
  const tables = ["node", "edge", "delegation", "meter", "graph_change", "idempotency"];
  const counts = async () =>
    Promise.all(tables.map(async (table) => world.sql(`select count(*)::int as n, max(xmin::text::bigint) as x from membership.${table}`)));
  const before = await counts();
  const warned = async (as: string, body: unknown): Promise<readonly string[]> =>
    (await world.call(as, "POST", `${BASE}/what-if`, { body })).body.warnings.map((warning: { code: string }) => warning.code);
  assert.deepEqual(await warned("ben", draft({ capabilities: null })), ["all_capabilities"]);
  assert.deepEqual(await warned("ben", draft({ capabilities: [], budget_usd: 0 })), ["no_tools", "no_money"]);
  assert.deepEqual(await warned("ben", draft({ capabilities: people })), ["adds_nothing"]);
  assert.deepEqual(await warned("ben", draft({ valid_from: new Date(Date.now() + 86_400_000).toISOString() })), ["not_yet_valid"]);
  const cleo = await world.call("cleo", "POST", `${BASE}/what-if`, {
    body: draft({ agent_id: "agent:reporter", capabilities: [people[0]] }),
  });
  assert.deepEqual(cleo.body.columns_masked, { "employee.birth_date": "year", "employee.salary": "null" });
  assert.deepEqual(await counts(), before);

  await world.sql("update membership.delegation set status = 'revoked', ended_at = now() where id = 'delegation:ben-hr'");
  assert.deepEqual(await warned("ben", draft({ capabilities: people })), ["can_change_data"]);
  const reach = await world.call("ben", "POST", `${BASE}/what-if`, { body: draft({ capabilities: people.slice(0, 1) }) });
  assert.deepEqual(reach.body.audiences.added, [{ audience: "https://people.demo", scopes: ["people.read"] }]);
  await world.sql("update membership.node set state = 'quarantined' where id = 'people.demo.list_employees'");
  assert.deepEqual(await warned("ben", draft({ capabilities: people.slice(0, 1) })), ["adds_nothing", "not_usable_now"]);
});

test("a what-if names what the tools hide from the agent, though the person sees it", async (t) => {
  let permits: readonly string[] = [];
  const rule = (asked: { type: string; action: string; agent: string | undefined }): boolean =>
    asked.type !== "employee" || (asked.agent === "agent:hr-assistant" && permits.includes(asked.action));
  const world = await servedWorld(t, await testDatabase(t, graphModules), { rule });
  const hidden = async (capabilities: readonly string[] | null) => {
    const reply = await world.call("ben", "POST", `${BASE}/what-if`, { body: draft({ capabilities }) });
    assert.equal(reply.status, 200, JSON.stringify(reply.body));
    return [reply.body.columns_masked, reply.body.what_if_digest] as const;
  };
  const [all, digest] = await hidden(people);
  assert.deepEqual(all, { "employee.birth_date": "year", "employee.salary": "null" });
  permits = ["read_salary"];
  assert.deepEqual((await hidden(people))[0], { "employee.birth_date": "year" });
  assert.deepEqual((await hidden(null))[0], { "employee.birth_date": "year" });
  const stale = await create(world, draft({ capabilities: people, what_if_digest: digest }));
  assert.deepEqual([stale.status, stale.body.code], [409, "what_if_stale"], "what it hides is part of what was agreed to");
  permits = ["read_salary", "read_birth_date"];
  assert.deepEqual((await hidden(people))[0], {});
});

test("a create is refused as stale when what it would do has changed since the what-if", async (t) => {
  const world = await servedWorld(t, await testDatabase(t, graphModules));
  const { body } = await world.call("ben", "POST", `${BASE}/what-if`, { body: draft() });
  assert.equal(body.what_if_digest, (await world.call("ben", "POST", `${BASE}/what-if`, { body: draft() })).body.what_if_digest);
  await world.put({ kind: "Group", id: "group:elsewhere", name: "Elsewhere", tenant_id: "tenant:globex", props: {} });
  await world.sql("update membership.node set state = 'retired' where id = 'people.demo.update_salary'");
  const stale = await create(world, draft({ what_if_digest: body.what_if_digest }));
  assert.deepEqual([stale.status, stale.body.code], [409, "what_if_stale"]);
  assert.deepEqual(stale.body.what_if.tools.kept, people.slice(0, 2).toSorted(), "it says what it would do now");
  assert.equal((await create(world, draft({ what_if_digest: stale.body.what_if.what_if_digest }))).status, 201);
});

forEachDatabase("one key makes one delegation: at once, again, and with another body", graphModules, async (t, database) => {
  const world = await servedWorld(t, database, { rule: demoRule });
  const answers = await Promise.all(Array.from({ length: 6 }, () => create(world, draft(), "one-key")));
  const made = answers.filter((reply) => reply.status === 201);
  assert.ok(made.length >= 1);
  for (const reply of answers) if (reply.status !== 201) assert.deepEqual([reply.status, reply.body.code], [409, "in_progress"]);
  const again = await create(world, draft(), "one-key");
  assert.equal(again.status, 201);
  assert.deepEqual(again.body, made[0]?.body);
  for (const name of ["etag", "x-graph-version"]) assert.equal(again.headers.get(name), made[0]?.headers.get(name));
  assert.deepEqual(await world.sql("select count(*)::int as n from membership.delegation"), [{ n: 4 }]);
  assert.equal((await create(world, draft({ max_steps: 11 }), "one-key")).body.code, "idempotency_conflict");
  assert.equal(
    (await create(world, draft({ agent_id: "agent:reporter", capabilities: [people[0]] }), "one-key", "cleo")).status,
    201,
    "keys are each person's own",
  );
  for (const bad of ["", "a b", "x".repeat(129), "ü"]) {
    const reply = await world.call("ben", "POST", BASE, {
      body: draft(),
      headers: { "idempotency-key": encodeURI(bad) === bad ? bad : "a/b" },
    });
    assert.deepEqual([reply.status, reply.body.code], [400, "idempotency_key_required"]);
  }
  assert.equal((await world.call("ben", "POST", BASE, { body: draft() })).body.code, "idempotency_key_required");
  await world.sql("update membership.idempotency set created_at = now() - interval '25 hours'");
  assert.equal((await create(world, draft({ max_steps: 11 }), "one-key")).status, 201, "after a day the key is free");
});

test("a key's create is answered as it was first, whatever has become of end, agent and right since, and to its sender alone", async (t) => {
  let now = new Date();
  let isAllowed = true;
  const rule: Rule = (asked) => (asked.action === "create" && !isAllowed ? "not_granted" : demoRule(asked));
  const world = await servedWorld(t, await testDatabase(t, graphModules), { rule, now: () => now });
  const end = draft({ expires_at: new Date(now.getTime() + 3_600_000).toISOString() });
  const whatIf = await world.call("ben", "POST", `${BASE}/what-if`, { body: end });
  const body = { ...end, what_if_digest: whatIf.body.what_if_digest };
  const first = await create(world, body, "first");
  assert.equal(first.status, 201, JSON.stringify(first.body));
  const version = (await world.reader.version()).version;
  for (const [what, become] of [
    ["nothing", async () => undefined],
    ["its end has passed", async () => void (now = new Date(now.getTime() + 7_200_000))],
    ["the agent is off", () => world.sql("update membership.node set state = 'suspended' where id = 'agent:hr-assistant'")],
    ["it is nobody's to give", async () => void (isAllowed = false)],
    ["the agent is no more", () => world.sql("update membership.node set kind = 'Group' where id = 'agent:hr-assistant'")],
  ] as const) {
    await become();
    const again = await create(world, body, "first");
    const headersOf = ({ headers }: typeof again) => ["etag", "x-graph-version"].map((name) => headers.get(name));
    assert.deepEqual([what, again.status, again.body], [what, 201, first.body]);
    assert.deepEqual(headersOf(again), headersOf(first));
  }
  assert.equal((await world.reader.version()).version, version, "nothing was written");
  for (const [what, reply, status, code] of [
    ["another body", await create(world, { ...body, purpose: "Find others" }, "first"), 409, "idempotency_conflict"],
    ["another key", await create(world, body, "second"), 404, "not_found"],
    ["another person", await create(world, body, "first", "cleo"), 404, "not_found"],
    ["another tenant", await create(world, body, "first", "eve"), 404, "not_found"],
    ["the person's agent", await create(world, body, "first", "ben+hr-assistant"), 403, "person_required"],
    [
      "without the scope",
      await world.call("ben", "POST", BASE, { body, ...key("first"), scopes: ["pip.read"] }),
      403,
      "insufficient_scope",
    ],
    ["nobody", await world.call(undefined, "POST", BASE, { body, ...key("first") }), 401, "unauthenticated"],
  ] as const)
    assert.deepEqual([what, reply.status, reply.body.code], [what, status, code]);
});

test("pause, resume and revoke: one version each, told to those it concerns, and the first end is the fact", async (t) => {
  const world = await servedWorld(t, await testDatabase(t, graphModules), { rule: demoRule });
  const path = `${BASE}/delegation:ben-hr`;
  const reserved = await world.call("service:crud", "POST", `${BASE}/reservations`, {
    body: { call_id: "running", user_id: "person:ben", agent_id: "agent:hr-assistant", tool_id: people[0], usd: 0.01 },
  });
  assert.equal(reserved.status, 201);
  const stop = (as: string, verb: string, headers = {}) =>
    world.call(as, "POST", `${path}/${verb}`, { body: { reason: "no longer needed" }, headers });

  const paused = await stop("ben", "pause");
  assert.equal(paused.status, 200);
  assert.deepEqual([paused.body.status, paused.body.hold, paused.body.running_calls], ["paused", "manual", ["running"]]);
  assert.equal(paused.headers.get("etag"), '"2"');
  const same = await stop("ben", "pause");
  assert.equal(same.body.graph_version, paused.body.graph_version, "pausing twice writes nothing");
  assert.equal(
    (await world.call("service:pdp", "GET", "/api/v1/pip/membership/capabilities?user_id=person:ben")).body.capabilities.length,
    0,
  );

  assert.deepEqual([(await stop("ben", "resume")).status, (await stop("ben", "resume")).body.code], [400, "if_match_required"]);
  const stale = await stop("ben", "resume", { "if-match": '"1"' });
  assert.deepEqual([stale.status, stale.body.code, stale.headers.get("etag")], [412, "stale_version", '"2"']);
  assert.equal((await stop("ada", "resume", { "if-match": '"2"' })).status, 403, "who resumes is who might give it anew");
  const resumed = await stop("ben", "resume", { "if-match": '"2"' });
  assert.deepEqual([resumed.status, resumed.body.status, resumed.headers.get("etag")], [200, "active", '"3"']);

  const revoked = await stop("ada", "revoke");
  assert.deepEqual([revoked.status, revoked.body.status, revoked.body.end_reason], [200, "revoked", "no longer needed"]);
  const twice = await world.call("ben", "POST", `${path}/revoke`, { body: { reason: "another reason" } });
  assert.deepEqual([twice.status, twice.body.ended_at, twice.body.end_reason], [200, revoked.body.ended_at, "no longer needed"]);
  for (const verb of ["pause", "resume"]) {
    const { status, code, delegation_status } = (await stop("ben", verb, { "if-match": "*" })).body as unknown as Record<string, unknown>;
    assert.deepEqual([status, code, delegation_status], [409, "delegation_ended", "revoked"]);
  }
  assert.deepEqual(
    (
      await world.call("service:crud", "POST", `${BASE}/reservations`, {
        body: { call_id: "after", user_id: "person:ben", agent_id: "agent:hr-assistant", tool_id: people[0], usd: 0 },
      })
    ).body.code,
    "delegation_inactive",
  );
  const settled = await world.call("service:crud", "POST", `${BASE}/reservations/${reserved.body.reservation_id}/settle`, {
    body: { usd: 0.01, steps: 1, outcome: "ok" },
  });
  assert.equal(settled.status, 200, "what ran is still paid for");

  const published = (await world.published()).filter(({ type }) => type.startsWith("delegation."));
  assert.deepEqual(
    published.map(({ type }) => type),
    ["delegation.paused", "delegation.resumed", "delegation.revoked"],
  );
  assert.ok(published.every(({ visible_to }) => visible_to?.includes("person:ben")));
  assert.deepEqual(
    world.entries.map(({ data }) => data["op"]),
    ["paused", "resumed", "revoked"],
  );
  assert.equal(world.entries[2]?.actor.subject, "person:ada");

  const history = await world.call("ben", "GET", `${path}/history`);
  assert.deepEqual(
    history.body.items.map((item: { actor: string; reason?: string; before: { status: string } | null; after: { status: string } }) => [
      item.actor,
      item.reason,
      item.before?.status,
      item.after.status,
    ]),
    [
      ["service:membership", undefined, undefined, "active"],
      ["person:ben", "no longer needed", "active", "paused"],
      ["person:ben", "no longer needed", "paused", "active"],
      ["person:ada", "no longer needed", "active", "revoked"],
    ],
  );
});

test("revoke-many ends in one version all that an agent holds from a person, and nothing of others", async (t) => {
  const world = await servedWorld(t, await testDatabase(t, graphModules), { rule: demoRule });
  const { body: second } = await create(world, draft());
  const body = { agent_id: "agent:hr-assistant", mode: "revoke", reason: "all of it" };
  assert.equal((await world.call("ben", "POST", `${BASE}/revoke-many`, { body })).body.code, "idempotency_key_required");
  const before = (await world.call("ben", "GET", "/api/v1/graph/version")).body.version as number;
  const many = await world.call("ben", "POST", `${BASE}/revoke-many`, { body, ...key("all") });
  assert.equal(many.status, 200);
  assert.deepEqual(many.body, {
    delegations: [second.delegation_id as string, "delegation:ben-hr"].toSorted(),
    graph_version: before + 1,
    running_calls: [],
  });
  assert.deepEqual((await world.call("ben", "POST", `${BASE}/revoke-many`, { body, ...key("all") })).body, many.body);
  assert.deepEqual((await world.call("ben", "POST", `${BASE}/revoke-many`, { body, ...key("again") })).body, {
    delegations: [],
    graph_version: before + 1,
    running_calls: [],
  });

  const denied = await world.call("ben", "POST", `${BASE}/revoke-many`, {
    body: { delegator_id: "person:cleo", mode: "pause", reason: "not mine" },
    ...key("x"),
  });
  assert.deepEqual([denied.status, denied.body.code, typeof denied.body.decision_id], [403, "access_denied", "string"]);
  const admin = await world.call("ada", "POST", `${BASE}/revoke-many`, {
    body: { delegator_id: "person:cleo", mode: "pause", reason: "mine to do" },
    ...key("y"),
  });
  assert.deepEqual(admin.body.delegations, ["delegation:cleo-rep"]);
  const empty = await world.call("ben", "POST", `${BASE}/revoke-many`, { body: { mode: "revoke", reason: "which one" }, ...key("z") });
  assert.deepEqual([empty.status, empty.body.code], [422, "unprocessable"]);
});

test("what a key's revoke-many ended is told again only to whoever might end it now, and nothing is ended twice", async (t) => {
  let said: ReturnType<Rule> = true;
  const rule: Rule = (asked) => (asked.sub === "person:ada" && asked.action === "revoke" ? said : demoRule(asked));
  const world = await servedWorld(t, await testDatabase(t, graphModules), { rule });
  const end = () =>
    world.call("ada", "POST", `${BASE}/revoke-many`, {
      body: { delegator_id: "person:cleo", mode: "revoke", reason: "all of it" },
      ...key("once"),
    });
  const first = await end();
  assert.deepEqual(first.body.delegations, ["delegation:cleo-rep"]);
  const version = (await world.call("ben", "GET", "/api/v1/graph/version")).body.version as number;
  for (const [now, status, code] of [
    [true, 200, undefined],
    ["not_granted", 409, "reply_withheld"],
    ["step_up_required", 401, "step_up_required"],
    [true, 200, undefined],
  ] as const) {
    said = now;
    const again = await end();
    assert.deepEqual(
      [again.status, again.body.code, again.body.delegations],
      [status, code, code === undefined ? first.body.delegations : undefined],
    );
  }
  assert.equal((await world.call("ben", "GET", "/api/v1/graph/version")).body.version, version);
});

const mfa = { id: "mfa", type: "step-up", properties: { acr_value: "strong", max_age_seconds: 300 } };
for (const [what, said] of [
  ["denied for want of it", "step_up_required"],
  ["permitted with the obligation", { obligations: [mfa] }],
] as const)
  test(`others' delegations want the sign-in that their decisions want, to be listed or ended: ${what}`, async (t) => {
    const rule: Rule = (asked) => (asked.sub === "person:ada" && asked.action !== "view_all" ? said : demoRule(asked));
    const world = await servedWorld(t, await testDatabase(t, graphModules), { rule });
    const end = (as: string, more: object) =>
      world.call(as, "POST", `${BASE}/revoke-many`, {
        body: { mode: "revoke", reason: "all of it", ...more },
        ...key(crypto.randomUUID()),
      });
    for (const reply of [
      await world.call("ada", "GET", `${BASE}?whose=all`),
      await world.call("ada", "GET", `${BASE}?user_id=person:cleo`),
      await end("ada", { agent_id: "agent:reporter" }),
      await end("ada", { delegator_id: "person:cleo" }),
    ]) {
      assert.deepEqual([reply.status, reply.body.code, typeof reply.body.decision_id], [401, "step_up_required", "string"]);
      assert.equal(reply.body.step_up.acr_value, "strong");
      assert.match(reply.headers.get("www-authenticate") ?? "", /insufficient_user_authentication/);
    }
    assert.equal((await world.call("cleo", "GET", `${BASE}/delegation:cleo-rep`)).body.status, "active", "nothing was ended");
    assert.equal((await world.call("ada", "GET", BASE)).status, 200, "one's own, of which there are none, want nothing");
    assert.equal((await world.call("ben", "GET", `${BASE}?whose=all`)).body.items.length, 2, "what no sign-in would show is left out");
  });

test("impact is what the enforcing question loses, not what the delegation names", async (t) => {
  const world = await servedWorld(t, await testDatabase(t, graphModules), { rule: demoRule });
  const path = `${BASE}/delegation:ben-hr/impact`;
  await world.call("service:crud", "POST", `${BASE}/reservations`, {
    body: { call_id: "now", user_id: "person:ben", agent_id: "agent:hr-assistant", tool_id: people[0], usd: 0 },
  });
  const alone = await world.call("ben", "GET", path);
  assert.deepEqual(
    alone.body.tools_lost,
    people.toSorted().map((tool_id) => ({ user_id: "person:ben", agent_id: "agent:hr-assistant", tool_id })),
  );
  assert.deepEqual([alone.body.children, alone.body.running_calls.map((call: { call_id: string }) => call.call_id)], [[], ["now"]]);
  await create(world, draft({ capabilities: people.slice(0, 2) }));
  assert.deepEqual(
    (await world.call("ben", "GET", path)).body.tools_lost.map((lost: { tool_id: string }) => lost.tool_id),
    ["people.demo.update_salary"],
  );
  const whatIf = await world.call("ben", "POST", `${BASE}/what-if`, { body: { revoke: "delegation:ben-hr" } });
  assert.deepEqual(whatIf.body.tools.removed, ["people.demo.update_salary"]);
  assert.deepEqual(whatIf.body.audiences.removed, [{ audience: "https://people.demo", scopes: ["people.write"] }]);
  assert.equal((await world.call("ben", "GET", `${BASE}/delegation:ben-hr`)).body.status, "active", "nothing was written");
  assert.deepEqual((await world.call("ben", "GET", `${BASE}/delegation:ben-old/impact`)).body.tools_lost, []);
});

test("the list holds one's own; with whose=all also what each decision lets one see; pages do not skip", async (t) => {
  const world = await servedWorld(t, await testDatabase(t, graphModules), { rule: demoRule, bus: { head: async () => 41n } });
  const ids = (reply: { body: { items: { delegation_id: string }[] } }) => reply.body.items.map((item) => item.delegation_id);
  const ben = await world.call("ben", "GET", BASE);
  assert.deepEqual(ids(ben), ["delegation:ben-hr", "delegation:ben-old"]);
  assert.equal(ben.body.stream_seq, 41);
  assert.equal(world.asked.length, 1, "one's own rows need no decision each");
  assert.deepEqual(ids(await world.call("ben", "GET", `${BASE}?status=revoked`)), ["delegation:ben-old"]);
  assert.deepEqual(ids(await world.call("ben", "GET", `${BASE}?agent_id=agent:reporter&status=active`)), []);
  assert.deepEqual(ids(await world.call("ada", "GET", BASE)), []);
  assert.deepEqual(ids(await world.call("ada", "GET", `${BASE}?whose=all`)), [
    "delegation:ben-hr",
    "delegation:ben-old",
    "delegation:cleo-rep",
  ]);
  assert.deepEqual(ids(await world.call("ada", "GET", `${BASE}?user_id=person:cleo`)), ["delegation:cleo-rep"]);
  assert.deepEqual(ids(await world.call("ben", "GET", `${BASE}?whose=all`)), ["delegation:ben-hr", "delegation:ben-old"]);
  assert.deepEqual(ids(await world.call("ben", "GET", `${BASE}?user_id=person:cleo`)), []);
  assert.deepEqual(ids(await world.call("eve", "GET", `${BASE}?whose=all`)), []);
  assert.equal((await world.call("dan", "GET", BASE)).status, 403);

  assert.deepEqual(ids(await world.call("ben", "GET", `${BASE}?attention=true`)), []);
  await world.sql("update membership.meter set used_steps = 41 where delegation_id = 'delegation:ben-hr'");
  assert.deepEqual(ids(await world.call("ben", "GET", `${BASE}?attention=true`)), ["delegation:ben-hr"]);

  const first = await world.call("ada", "GET", `${BASE}?whose=all&limit=2`);
  const cursor = encodeURIComponent(first.body.next_cursor as string);
  assert.deepEqual(ids(first), ["delegation:ben-hr", "delegation:ben-old"]);
  assert.deepEqual(ids(await world.call("ada", "GET", `${BASE}?whose=all&limit=2&cursor=${cursor}`)), ["delegation:cleo-rep"]);
  for (const [as, query] of [
    ["ada", `whose=all&status=active&cursor=${cursor}`],
    ["ben", `whose=all&limit=2&cursor=${cursor}`],
    ["ada", `whose=all&cursor=AAAA`],
    ["ada", `whose=all&cursor=${cursor.slice(0, -4)}AAAA`],
  ] as const)
    assert.deepEqual([(await world.call(as, "GET", `${BASE}?${query}`)).status, query], [400, query]);
});

test("a cursor is good for ten minutes", async (t) => {
  let now = new Date();
  const world = await servedWorld(t, await testDatabase(t, graphModules), { now: () => now });
  const { body } = await world.call("ada", "GET", `${BASE}?whose=all&limit=1`);
  now = new Date(now.getTime() + 599_000);
  const path = `${BASE}?whose=all&limit=1&cursor=${encodeURIComponent(body.next_cursor as string)}`;
  assert.equal((await world.call("ada", "GET", path)).status, 200);
  now = new Date(now.getTime() + 2_000);
  assert.equal((await world.call("ada", "GET", path)).body.code, "invalid_cursor");
});

test("status goes by the clock though nobody swept: ended, not begun, begun, and under a parent that is not live", async (t) => {
  const world = await servedWorld(t, await testDatabase(t, graphModules));
  const status = async (): Promise<unknown[]> => {
    const { body } = await world.call("ben", "GET", `${BASE}/delegation:ben-hr`);
    const pip = await world.call("service:pdp", "GET", "/api/v1/pip/membership/delegations?user_id=person:ben&agent_id=agent:hr-assistant");
    assert.equal(pip.body[0].status, body.status);
    const capabilities = await world.call("service:pdp", "GET", "/api/v1/pip/membership/capabilities?user_id=person:ben");
    assert.equal(capabilities.body.capabilities.length > 0, body.status === "active");
    return [body.status, body.hold, body.end_reason];
  };
  const set = (sql: string) => world.sql(`update membership.delegation set ${sql} where id = 'delegation:ben-hr'`);
  await set("expires_at = now() - interval '1 second'");
  assert.deepEqual(await status(), ["expired", undefined, "expired"]);
  await set("expires_at = null");
  assert.deepEqual(await status(), ["active", undefined, undefined]);
  await set("status = 'paused', hold = 'not_yet_valid', valid_from = now() + interval '1 hour'");
  assert.deepEqual(await status(), ["paused", "not_yet_valid", undefined]);
  await set("valid_from = now() - interval '1 second'");
  assert.deepEqual(await status(), ["active", undefined, undefined]);
  await set("status = 'active', hold = null, parent_id = 'delegation:cleo-rep', path = array['delegation:cleo-rep', 'delegation:ben-hr']");
  assert.deepEqual(await status(), ["active", undefined, undefined]);
  await world.sql("update membership.delegation set status = 'paused', hold = 'manual' where id = 'delegation:cleo-rep'");
  assert.deepEqual(await status(), ["paused", "parent", undefined]);
  await world.sql("update membership.delegation set expires_at = now() where id = 'delegation:cleo-rep'");
  assert.deepEqual(await status(), ["revoked", undefined, "parent"]);
});

test("ending a parent ends what was given under it, in the same version", async (t) => {
  const world = await servedWorld(t, await testDatabase(t, graphModules));
  await world.sql(
    "update membership.delegation set parent_id = 'delegation:ben-hr', path = array['delegation:ben-hr', 'delegation:cleo-rep'] where id = 'delegation:cleo-rep'",
  );
  await world.sql(
    `update membership.meter p set lent_micro = c.limit_micro, limit_micro = p.limit_micro + c.limit_micro, lent_steps = c.limit_steps,
       limit_steps = p.limit_steps + c.limit_steps from membership.meter c
     where p.delegation_id = 'delegation:ben-hr' and c.delegation_id = 'delegation:cleo-rep'`,
  );
  const { body } = await world.call("ben", "POST", `${BASE}/delegation:ben-hr/revoke`, { body: { reason: "enough" } });
  const child = await world.call("cleo", "GET", `${BASE}/delegation:cleo-rep`);
  assert.deepEqual(
    [child.body.status, child.body.end_reason, child.headers.get("x-graph-version")],
    ["revoked", "parent", String(body.graph_version)],
  );
  const published = (await world.published()).filter(({ type }) => type === "delegation.revoked");
  assert.deepEqual(
    published.map(({ data }) => data["delegation_id"]),
    ["delegation:ben-hr", "delegation:cleo-rep"],
  );
});

test("an agent neither delegates nor revokes, whatever the decision point says", async (t) => {
  const world = await servedWorld(t, await testDatabase(t, graphModules));
  const scopes = ["membership.delegate"];
  const as = "ben+hr-assistant";
  assert.equal((await world.call(as, "POST", BASE, { body: draft(), scopes, ...key("k") })).status, 403);
  assert.equal((await world.call(as, "POST", `${BASE}/what-if`, { body: draft(), scopes })).status, 403);
  assert.equal(
    (await world.call(as, "POST", `${BASE}/delegation:ben-hr/resume`, { body: { reason: "please" }, scopes, headers: { "if-match": "*" } }))
      .status,
    403,
  );
});

forEachDatabase("revoking over HTTP while calls are reserved: none succeeds after the answer", graphModules, async (t, database) => {
  const world = await servedWorld(t, database);
  await world.sql("update membership.meter set limit_steps = 500");
  let answered = false;
  let done = 0;
  let late = 0;
  const caller = async (name: string): Promise<void> => {
    for (let call = 0; call < 25; call++) {
      const after = answered;
      const reply = await world.call("service:crud", "POST", `${BASE}/reservations`, {
        body: { call_id: `${name}-${call}`, user_id: "person:ben", agent_id: "agent:hr-assistant", tool_id: people[0], usd: 0 },
      });
      if (reply.status === 201) {
        done++;
        if (after) late++;
      } else assert.equal(reply.body.code, "delegation_inactive");
    }
  };
  const revoke = async (): Promise<void> => {
    while (done < 10) await new Promise((resolve) => setImmediate(resolve));
    assert.equal((await world.call("ben", "POST", `${BASE}/delegation:ben-hr/revoke`, { body: { reason: "stop now" } })).status, 200);
    answered = true;
  };
  await Promise.all([...["a", "b", "c", "d"].map(caller), revoke()]);
  assert.equal(late, 0);
  assert.ok(done >= 10 && done < 100, `${done} were reserved before`);
});

const SUMS = statement<{ id: string }>(
  "testing.lent_sums",
  `select m.delegation_id as id from membership.meter m left join lateral (
     select coalesce(sum(case when d.status in ('revoked', 'expired') then c.used_micro + c.held_micro + c.lent_micro else c.limit_micro end), 0) as micro,
       coalesce(sum(case when d.status in ('revoked', 'expired') then c.used_steps + c.held_steps + c.lent_steps else c.limit_steps end), 0) as steps
     from membership.delegation d join membership.meter c on c.delegation_id = d.id where d.parent_id = m.delegation_id) below on true
   where (m.lent_micro, m.lent_steps) <> (below.micro, below.steps)`,
);
const agentOf = (id: string) => [
  { id, kind: "AIAgent", name: id, tenant_id: "tenant:acme" } as const,
  ...people.map((tool) => ({ kind: "HAS_CAPABILITY", src: id, dst: tool, props: { granted_by: "person:ben" } }) as const),
  { kind: "CONTROLLED_BY", src: id, dst: "person:ben", props: { level: "primary" } } as const,
];
const handOn = (parent_id: string, agent_id: string, more: Record<string, unknown> = {}) =>
  draft({ parent_id, agent_id, capabilities: [people[0]], max_steps: 10, budget_usd: 1, ...more });
/** A call of the agent that holds it, by who gave it. */
const spend = (world: ServedWorld, from: string, agent: string, delegation_id: string, usd: number) =>
  world.call("service:crud", "POST", `${BASE}/reservations`, {
    body: { call_id: crypto.randomUUID(), user_id: from, agent_id: agent, tool_id: people[0], delegation_id, usd },
  });
const ROOT = "delegation:ben-hr";

forEachDatabase(
  "an agent hands on a part of what it holds: a subset, no longer, no deeper than three, out of what is left",
  graphModules,
  async (t, database) => {
    const world = await servedWorld(t, database);
    await world.put(...["agent:a", "agent:b", "agent:c"].flatMap(agentOf));
    const whatIf = await world.call("ben", "POST", `${BASE}/what-if`, { body: handOn(ROOT, "agent:a") });
    assert.deepEqual([whatIf.status, whatIf.body.tools?.added], [200, [people[0]]], JSON.stringify(whatIf.body));
    const one = await create(world, handOn(ROOT, "agent:a", { what_if_digest: whatIf.body.what_if_digest }));
    assert.deepEqual([one.status, one.body.delegator_id, one.body.parent_id], [201, "agent:hr-assistant", ROOT], JSON.stringify(one.body));
    const two = await create(world, handOn(one.body.delegation_id, "agent:b", { budget_usd: 0.500001, max_steps: 5 }));
    assert.equal(two.status, 201, JSON.stringify(two.body));
    const above = (await world.call("ben", "GET", `${BASE}/${one.body.delegation_id}`)).body;
    assert.deepEqual([above.lent_usd, above.lent_steps, above.budget_usd], [0.500001, 5, 1]);
    const root = (await world.call("ben", "GET", `${BASE}/${ROOT}`)).body;
    assert.deepEqual([root.lent_usd, root.lent_steps], [1, 10]);
    assert.ok(two.body.expires_at <= above.expires_at);
    for (const [what, body, as, status, code] of [
      [
        "more money than is free",
        handOn(one.body.delegation_id, "agent:c", { budget_usd: 0.5, max_steps: 1 }),
        "ben",
        409,
        "budget_exhausted",
      ],
      [
        "more steps than are free",
        handOn(one.body.delegation_id, "agent:c", { budget_usd: 0.1, max_steps: 6 }),
        "ben",
        409,
        "steps_exhausted",
      ],
      [
        "a tool that the one above does not name",
        handOn(one.body.delegation_id, "agent:c", { capabilities: [people[1]], budget_usd: 0 }),
        "ben",
        422,
        "unprocessable",
      ],
      [
        "all tools, where the one above names some",
        handOn(one.body.delegation_id, "agent:c", { capabilities: null, budget_usd: 0 }),
        "ben",
        422,
        "unprocessable",
      ],
      [
        "a later end",
        handOn(one.body.delegation_id, "agent:c", { expires_at: new Date(Date.now() + 40 * 86_400_000).toISOString() }),
        "ben",
        422,
        "unprocessable",
      ],
      ["back to an agent above", handOn(two.body.delegation_id, "agent:a", { max_steps: 1, budget_usd: 0 }), "ben", 409, "cycle"],
      ["somebody else's", handOn(ROOT, "agent:reporter"), "cleo", 404, "not_found"],
      ["another tenant's", handOn(ROOT, "agent:c"), "eve", 404, "not_found"],
      ["nobody's", handOn("delegation:never", "agent:c"), "ben", 404, "not_found"],
    ] as const) {
      const reply = await create(world, body, undefined, as);
      assert.deepEqual([what, reply.status, reply.body.code], [what, status, code]);
    }
    const three = await create(world, handOn(two.body.delegation_id, "agent:c", { max_steps: 1, budget_usd: 0.1 }));
    assert.deepEqual([three.status, three.body.errors?.[0].path], [422, "/parent_id"], "the fourth one is one too deep");
    assert.deepEqual(await database.run(SUMS), []);

    // Whoever stands at the top acts, or nothing under them does; and nobody pays what another person handed on.
    await world.sql("update membership.node set state = 'suspended' where id = 'person:ben'");
    assert.equal((await spend(world, "agent:a", "agent:b", two.body.delegation_id, 0)).status, 409);
    await world.sql("update membership.node set state = 'active' where id = 'person:ben'");
    await world.sql(`update membership.edge set expires_at = now() where src = 'agent:a' and dst = '${people[0]}'`);
    assert.equal((await spend(world, "agent:a", "agent:b", two.body.delegation_id, 0)).body.code, "capability_missing");
    await world.sql(`update membership.edge set expires_at = null where src = 'agent:a' and dst = '${people[0]}'`);
    const asPerson = (person_id: string) =>
      world.call("service:crud", "POST", `${BASE}/reservations`, {
        body: { call_id: crypto.randomUUID(), user_id: "agent:a", agent_id: "agent:b", person_id, tool_id: people[0], usd: 0.000002 },
      });
    assert.equal((await asPerson("person:cleo")).body.code, "delegation_inactive");
    const paid = await asPerson("person:ben");
    assert.deepEqual([paid.status, paid.body.delegation_id], [201, two.body.delegation_id], JSON.stringify(paid.body));
    await world.call("service:crud", "POST", `${BASE}/reservations/${paid.body.reservation_id}/release`);

    // The grandchild pays for itself; who ends the middle one ends it, and what nobody used is back.
    const held = await spend(world, "agent:a", "agent:b", two.body.delegation_id, 0.000003);
    assert.equal(held.status, 201, JSON.stringify(held.body));
    const listed = async (query: string) =>
      (await world.call("ben", "GET", `${BASE}${query}`)).body.items.map((item: { delegation_id: string }) => item.delegation_id);
    const own = await listed("");
    for (const { body } of [one, two]) assert.ok(own.includes(body.delegation_id), "who gave it sees what became of it");
    assert.deepEqual(await listed(`?parent_id=${ROOT}`), [one.body.delegation_id]);
    assert.deepEqual(await listed(`?parent_id=${one.body.delegation_id}`), [two.body.delegation_id]);
    assert.deepEqual(await listed(`?parent_id=${two.body.delegation_id}`), []);
    const spentBy = async (user: string) => (await world.call("service:crud", "GET", `${BASE}/spend?user_id=${user}`)).body;
    assert.deepEqual(
      [(await spentBy("person:ben")).held_usd, (await spentBy("person:cleo")).held_usd],
      [0.000003, 0],
      "what was handed on is spent by who stands at the top",
    );
    assert.equal((await world.call("ben", "POST", `${BASE}/${one.body.delegation_id}/revoke`, { body: { reason: "enough" } })).status, 200);
    const refused = await spend(world, "agent:a", "agent:b", two.body.delegation_id, 0);
    assert.equal(refused.body.code, "delegation_inactive");
    const during = (await world.call("ben", "GET", `${BASE}/${ROOT}`)).body;
    assert.deepEqual([during.lent_usd, during.lent_steps], [0.000003, 1], "what is held stays lent");
    const settled = await world.call("service:crud", "POST", `${BASE}/reservations/${held.body.reservation_id}/settle`, {
      body: { usd: 0.000001, steps: 1, outcome: "ok" },
    });
    assert.equal(settled.status, 200, JSON.stringify(settled.body));
    const after = (await world.call("ben", "GET", `${BASE}/${ROOT}`)).body;
    assert.deepEqual([after.lent_usd, after.lent_steps], [0.000001, 1], "what is used stays spent, to the micro-dollar");
    assert.deepEqual(await database.run(SUMS), []);
    assert.equal(
      (await create(world, handOn(one.body.delegation_id, "agent:c", { max_steps: 1, budget_usd: 0 }))).status,
      422,
      "of what has ended nothing is handed on",
    );
  },
);

forEachDatabase(
  "what a minute allows holds for a delegation and all below it together, at one instant too",
  graphModules,
  async (t, database, { second }) => {
    const world = await servedWorld(t, database);
    await world.put(...["agent:a", "agent:b"].flatMap(agentOf));
    const [one = "", other = ""] = await Promise.all(
      ["agent:a", "agent:b"].map(async (agent) => (await create(world, handOn(ROOT, agent))).body.delegation_id as string),
    );
    const allow = (steps: number) =>
      world.sql(`update membership.delegation set constraints = '{"per_minute_steps": ${steps}}' where id = '${ROOT}'`);
    await allow(1);
    const ask = {
      callId: "first",
      userId: "agent:hr-assistant",
      agentId: "agent:a",
      toolId: people[0] ?? "",
      steps: 1,
      micro: 1n,
      ttlSeconds: 60,
    };
    const meanwhile = async () => (await spend(world, "agent:hr-assistant", "agent:b", other, 0.000001)).body.code;
    if (second === undefined) {
      await reserve(database, wholeGraph, { ...ask, delegationId: one });
      assert.equal(await meanwhile(), "rate_exceeded");
      return;
    }
    // The first is held and not committed yet: the second waits for it, and only then counts.
    const elsewhere = await second();
    let late: Promise<unknown> | undefined;
    await elsewhere.transaction(async (sql) => {
      await reserve(sql, wholeGraph, { ...ask, delegationId: one });
      let isOver = false;
      late ??= meanwhile().finally(() => (isOver = true));
      await until(async () => isOver || (await world.sql("select 1 from pg_locks where locktype = 'advisory' and not granted")).length > 0);
    });
    assert.equal(await late, "rate_exceeded");
    await allow(2);
    assert.equal(await meanwhile(), undefined);
  },
);

forEachDatabase(
  "no order of handing on, spending and ending breaks the sums, three deep and from two sides at once",
  graphModules,
  async (t, database, { second }) => {
    const [world, other] = [await servedWorld(t, database), second === undefined ? undefined : await servedWorld(t, await second())];
    await world.put(...["agent:a", "agent:b"].flatMap(agentOf));
    await world.sql("update membership.meter set limit_steps = 100000, limit_micro = 10000000 where delegation_id = 'delegation:ben-hr'");
    let seed = 7;
    const random = (below: number): number => (seed = (seed * 48_271) % 2_147_483_647) % below;
    const children: string[] = [];
    const grandchildren: string[] = [];
    const open: string[] = [];
    const pick = (list: readonly string[]): string => list[random(Math.max(list.length, 1))] ?? ROOT;
    const act = async (at: ServedWorld): Promise<number> => {
      const usdUpTo = (max: number): number => random(max) / 1_000_000;
      switch (random(7)) {
        case 0: {
          const reply = await create(at, handOn(ROOT, "agent:a", { budget_usd: usdUpTo(1_000_000), max_steps: 1 + random(20) }));
          if (reply.status === 201) children.push(reply.body.delegation_id);
          return reply.status;
        }
        case 1: {
          const reply = await create(at, handOn(pick(children), "agent:b", { budget_usd: usdUpTo(125_000), max_steps: 1 + random(5) }));
          if (reply.status === 201) grandchildren.push(reply.body.delegation_id);
          return reply.status;
        }
        case 2:
          return (
            await at.call("ben", "POST", `${BASE}/${pick([...children.slice(-1), ...grandchildren.slice(-2)])}/revoke`, {
              body: { reason: "enough" },
            })
          ).status;
        case 3: {
          const id = open.splice(random(open.length), 1)[0] ?? crypto.randomUUID();
          const body = { usd: usdUpTo(62_500), steps: random(2), outcome: random(3) === 0 ? "unknown" : "ok" };
          return (await at.call("service:crud", "POST", `${BASE}/reservations/${id}/settle`, { body })).status;
        }
        default: {
          const level = random(3);
          const [from, agent, id] = (
            [
              ["person:ben", "agent:hr-assistant", ROOT],
              ["agent:hr-assistant", "agent:a", pick(children)],
              ["agent:a", "agent:b", pick(grandchildren)],
            ] as const
          )[level] ?? ["person:ben", "agent:hr-assistant", ROOT];
          const reply = await spend(at, from, agent, id, usdUpTo(62_500));
          if (reply.status === 201) open.push(reply.body.reservation_id);
          return reply.status;
        }
      }
    };
    // The one at the top stays: whoever would end it is answered for another one.
    const lane = async (at: ServedWorld): Promise<void> => {
      for (let turn = 0; turn < 40; turn++) {
        const before = children.length + grandchildren.length;
        if (before === 0)
          await create(at, handOn(ROOT, "agent:a", { max_steps: 10 })).then(({ body }) => children.push(body.delegation_id));
        assert.ok([200, 201, 404, 409, 422].includes(await act(at)));
      }
    };
    await Promise.all([lane(world), lane(other ?? world), lane(world), lane(other ?? world)]);
    assert.deepEqual(await database.run(SUMS), []);
    for (const id of open) await world.call("service:crud", "POST", `${BASE}/reservations/${id}/release`);
    for (const id of children) await world.call("ben", "POST", `${BASE}/${id}/revoke`, { body: { reason: "the end" } });
    assert.deepEqual(await database.run(SUMS), []);
    const [left] = await world.sql<{ lent: string; used: string }>(
      `select (select lent_micro from membership.meter where delegation_id = '${ROOT}') as lent,
       (select coalesce(sum(x.charged_micro), 0) from membership.reservation x where x.delegation_id <> '${ROOT}') as used`,
    );
    assert.equal(String(left?.lent), String(left?.used), "what was lent is what was spent below");
  },
);
