import assert from "node:assert/strict";
import { test } from "node:test";
import type { FactAsk, Facts } from "#contract/facts.ts";
import { undone } from "#membership/model/dry-run.ts";
import { statement } from "#store/database.ts";
import { testDatabase } from "#testing/database.ts";
import { graphModules, graphWorld, type GraphWorld } from "#testing/membership.ts";
import { readFacts } from "./facts.ts";
import { wholeGraph } from "./tenant-scope.ts";

const ask = (subject: string, action: string, type: string, id: string, more: Partial<FactAsk> = {}): FactAsk => ({
  subject_id: `person:${subject}`,
  action,
  resource: { type, external_id: id },
  ...more,
});
const by = (...agents: string[]): Partial<FactAsk> => ({ agent_ids: agents.map((agent) => `agent:${agent}`) });
const LIST = "people.demo.list_employees";
const call = (subject: string, tool: string, more: Partial<FactAsk> = {}): FactAsk => ask(subject, "tools/call", "tool", tool, more);
const factsOf = async (world: GraphWorld, one: FactAsk): Promise<Facts> => {
  const { value } = await world.reader.facts(wholeGraph, [one]);
  assert.ok(value[0]);
  return value[0];
};
const edges = (facts: Facts): string[] => facts.edges.map(({ kind, from, to, present }) => `${present ? "+" : "-"} ${kind} ${from} ${to}`);

test("facts of an agent's call: delegation, capability, chain and the edges that say so", async (t) => {
  const world = await graphWorld(await testDatabase(t, graphModules));
  const facts = await factsOf(world, call("ben", LIST, by("hr-assistant")));
  assert.deepEqual([facts.capability, facts.chain, facts.definition_ok], [true, true, true]);
  const { expires_at, ...delegation } = facts.delegation ?? { expires_at: null };
  assert.deepEqual(delegation, {
    id: "delegation:ben-hr",
    status: "active",
    active: true,
    steps_left: 50,
    budget_left_micro_usd: 5_000_000,
    covers: true,
  });
  assert.match(expires_at ?? "", /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  assert.deepEqual(
    [facts.agent?.id, facts.agent?.controllers, facts.agent?.client_id, facts.agent?.tenant_ids],
    ["agent:hr-assistant", ["person:ben"], "agent:hr-assistant", ["tenant:acme"]],
  );
  assert.deepEqual(facts.resource?.attributes, { mfa: false, requires: ["saas:people"], state: "approved" });
  assert.deepEqual(edges(facts), [
    "+ DELEGATES_TO person:ben agent:hr-assistant",
    `+ HAS_CAPABILITY agent:hr-assistant ${LIST}`,
    `+ REQUIRES ${LIST} saas:people`,
  ]);
});

test("a tool's call carries the policies that the caller's tenant, or Sallyport, bound to it or its service", async (t) => {
  const world = await graphWorld(await testDatabase(t, graphModules));
  const policy = (id: string) => ({ id, kind: "Policy", name: id, tenant_id: null, props: { rev: "1", uri: `cedar:${id}` } }) as const;
  const bind = (id: string, target: string, to: string, tenant_id: string, enabled = true) =>
    [
      { id, kind: "MCPPolicyBinding", name: to, tenant_id, props: { action: "tools/call", priority: 1, enabled } },
      { kind: "POLICY_REF", src: target, dst: id },
      { kind: "POLICY_REF", src: id, dst: to },
    ] as const;
  await world.put(
    ...["policy:tool", "policy:service", "policy:off", "policy:theirs"].map(policy),
    ...bind("binding:1", LIST, "policy:tool", "tenant:acme"),
    ...bind("binding:2", "people.demo", "policy:service", "tenant:acme"),
    ...bind("binding:3", LIST, "policy:off", "tenant:acme", false),
    ...bind("binding:4", LIST, "policy:theirs", "tenant:globex"),
  );
  const policies = async (one: FactAsk): Promise<unknown> => (await factsOf(world, one)).resource?.attributes["policies"];
  assert.deepEqual(await policies(call("ben", LIST)), ["policy:service", "policy:tool"]);
  assert.deepEqual(await policies(call("ben", LIST, by("hr-assistant"))), ["policy:service", "policy:tool"]);
  assert.deepEqual(await policies(call("eve", LIST)), ["policy:theirs"], "of another tenant's nothing");
  assert.equal(await policies(ask("ben", "view", "identities", LIST)), undefined, "another act has none");
});

const changes: readonly (readonly [name: string, sql: string, one: FactAsk, expected: (facts: Facts) => unknown, value: unknown])[] = [
  [
    "a revoked delegation is told with its status",
    "select 1",
    call("ben", LIST, by("reporter")),
    (f) => [f.capability, f.delegation?.status, f.delegation?.active, edges(f)[0], f.edges[0]?.id],
    [false, "revoked", false, "- DELEGATES_TO person:ben agent:reporter", "delegation:ben-old"],
  ],
  [
    "no delegation at all is an absent edge without an id",
    "select 1",
    call("cleo", LIST, by("hr-assistant")),
    (f) => [f.capability, f.delegation, edges(f)[0], f.edges[0]?.id],
    [false, null, "- DELEGATES_TO person:cleo agent:hr-assistant", undefined],
  ],
  [
    "a tool outside the delegation is no capability, though the agent has it",
    "select 1",
    call("ben", "sallyport.local.search_identities", by("hr-assistant")),
    (f) => [f.capability, f.delegation?.active, edges(f)[1]],
    [false, true, "+ HAS_CAPABILITY agent:hr-assistant sallyport.local.search_identities"],
  ],
  [
    "a tool that the agent lacks names the absent edge",
    "select 1",
    call("ben", "memory.demo.read_graph", by("hr-assistant")),
    (f) => [f.capability, edges(f)[1]],
    [false, "- HAS_CAPABILITY agent:hr-assistant memory.demo.read_graph"],
  ],
  [
    "a paused delegation",
    "update membership.delegation set status = 'paused', hold = 'manual' where id = 'delegation:ben-hr'",
    call("ben", LIST, by("hr-assistant")),
    (f) => [f.capability, f.delegation?.status, f.delegation?.active],
    [false, "paused", false],
  ],
  [
    "an end that is past",
    "update membership.delegation set expires_at = now() where id = 'delegation:ben-hr'",
    call("ben", LIST, by("hr-assistant")),
    (f) => [f.capability, f.delegation?.status],
    [false, "expired"],
  ],
  [
    "a live delegation is chosen before an ended one",
    "update membership.delegation set delegator_id = 'person:cleo' where id = 'delegation:ben-old'",
    call("cleo", LIST, by("reporter")),
    (f) => f.delegation?.id,
    "delegation:cleo-rep",
  ],
  [
    "used up steps leave the capability and say zero",
    "update membership.meter set used_steps = limit_steps where delegation_id = 'delegation:ben-hr'",
    call("ben", LIST, by("hr-assistant")),
    (f) => [f.capability, f.delegation?.steps_left],
    [true, 0],
  ],
  [
    "held money is not left",
    "update membership.meter set held_micro = 1500000 where delegation_id = 'delegation:ben-hr'",
    call("ben", LIST, by("hr-assistant")),
    (f) => f.delegation?.budget_left_micro_usd,
    3_500_000,
  ],
  [
    "a suspended agent is disabled and its delegation does not hold",
    "update membership.node set state = 'suspended' where id = 'agent:hr-assistant'",
    call("ben", LIST, by("hr-assistant")),
    (f) => [f.agent?.disabled, f.capability, f.delegation?.active],
    [true, false, false],
  ],
  [
    "a disabled person is told as such, without groups, tenants and grants",
    "update membership.node set state = 'disabled' where id = 'person:ben'",
    call("ben", LIST),
    (f) => [f.subject?.disabled, f.subject?.groups, f.subject?.tenant_ids, f.resource?.granted],
    [true, [], [], false],
  ],
  [
    "a drifted definition is not the capability's issue",
    `with x as (update membership.node set digest = 'b' where id = '${LIST}') update membership.edge set digest = 'a' where kind = 'HAS_CAPABILITY' and dst = '${LIST}' and src = 'agent:hr-assistant'`,
    call("ben", LIST, by("hr-assistant")),
    (f) => [f.capability, f.definition_ok],
    [true, false],
  ],
  [
    "a quarantined tool is no capability",
    `update membership.node set state = 'quarantined' where id = '${LIST}'`,
    call("ben", LIST, by("hr-assistant")),
    (f) => [f.capability, f.resource?.attributes["state"]],
    [false, "quarantined"],
  ],
  [
    "an inactive app breaks the chain",
    "update membership.node set state = 'disabled' where id = 'saas:people'",
    call("ben", LIST, by("hr-assistant")),
    (f) => [f.chain, edges(f)[2]],
    [false, `- REQUIRES ${LIST} saas:people`],
  ],
  ["a tool without apps needs none", "select 1", call("ben", "memory.demo.read_graph"), (f) => f.chain, true],
  [
    "a pinned delegation is the one told",
    "update membership.delegation set agent_id = 'agent:hr-assistant' where id = 'delegation:ben-old'",
    call("ben", LIST, { ...by("hr-assistant"), delegation_id: "delegation:ben-old" }),
    (f) => [f.delegation?.id, f.capability],
    ["delegation:ben-old", false],
  ],
  [
    "a pin on somebody else's delegation finds none",
    "select 1",
    call("ben", LIST, { ...by("hr-assistant"), delegation_id: "delegation:cleo-rep" }),
    (f) => [f.delegation, f.capability],
    [null, false],
  ],
  ["an unknown agent", "select 1", call("ben", LIST, by("nobody")), (f) => [f.agent, f.delegation, f.capability], [null, null, false]],
  ["a person is no agent", "select 1", call("ben", LIST, { agent_ids: ["person:cleo"] }), (f) => [f.agent, f.capability], [null, false]],
  [
    "an agent of another tenant is one that is not there, whatever it may do at home",
    "select 1",
    call("eve", LIST, by("hr-assistant")),
    (f) => [f.agent, f.delegation, f.capability, edges(f)[0], edges(f)[1]],
    [null, null, false, "- DELEGATES_TO person:eve agent:hr-assistant", `- HAS_CAPABILITY agent:hr-assistant ${LIST}`],
  ],
  [
    "whoever is in two tenants has in the one that is asked about no agent of the other",
    "insert into membership.edge (id, kind, src, dst, rev) values ('x', 'MEMBER_OF', 'account:ben@acme', 'tenant:globex', 1)",
    call("ben", LIST, { ...by("hr-assistant"), tenant_id: "tenant:globex" }),
    (f) => [f.subject?.tenant_ids, f.agent, f.delegation, f.capability],
    [["tenant:acme", "tenant:globex"], null, null, false],
  ],
  [
    "nor that tenant's delegations",
    "insert into membership.edge (id, kind, src, dst, rev) values ('x', 'MEMBER_OF', 'account:ben@acme', 'tenant:globex', 1)",
    ask("ben", "view", "delegations", "delegation:ben-hr", { tenant_id: "tenant:globex" }),
    (f) => [f.subject?.tenant_ids.length, f.resource],
    [2, null],
  ],
  [
    "an unknown subject gets nothing at all",
    "select 1",
    call("nobody", LIST, by("hr-assistant")),
    (f) => [f.subject, f.agent, f.resource, f.capability, f.edges],
    [null, null, null, false, []],
  ],
  ["a group is no subject", "select 1", { ...call("ben", LIST), subject_id: "group:people-ops" }, (f) => f.subject, null],
  ["a step-up tool says so", "select 1", call("ben", "people.demo.update_salary"), (f) => f.resource?.attributes["mfa"], true],
  [
    "a chain of agents without a delegation between them holds nothing",
    "select 1",
    call("ben", LIST, by("reporter", "hr-assistant")),
    (f) => [f.agent?.id, f.delegation, f.capability, edges(f).filter((e) => e.startsWith("-"))],
    ["agent:reporter", null, false, ["- DELEGATES_TO agent:hr-assistant agent:reporter"]],
  ],
  [
    "a delegation between agents that was not given under the person's holds nothing",
    "update membership.delegation set delegator_id = 'agent:hr-assistant' where id = 'delegation:cleo-rep'",
    call("ben", LIST, by("reporter", "hr-assistant")),
    (f) => [f.delegation?.id, f.delegation?.active, f.capability],
    [undefined, undefined, false],
  ],
  [
    "one given under it holds as the least of both",
    "update membership.delegation set delegator_id = 'agent:hr-assistant', parent_id = 'delegation:ben-hr', path = array['delegation:ben-hr', 'delegation:cleo-rep'] where id = 'delegation:cleo-rep'",
    call("ben", LIST, by("reporter", "hr-assistant")),
    (f) => [f.delegation?.id, f.delegation?.active, f.delegation?.steps_left, f.delegation?.budget_left_micro_usd, f.capability],
    ["delegation:cleo-rep", true, 5, 100_000, true],
  ],
  [
    "and not beyond what either hop has",
    "update membership.delegation set delegator_id = 'agent:hr-assistant', parent_id = 'delegation:ben-hr', path = array['delegation:ben-hr', 'delegation:cleo-rep'] where id = 'delegation:cleo-rep'",
    call("ben", "people.demo.get_employee", by("reporter", "hr-assistant")),
    (f) => f.capability,
    false,
  ],
];
test("each fact changes with the row it rests on", async (t) => {
  const { database } = await graphWorld(await testDatabase(t, graphModules));
  for (const [index, [name, sql, one, pick, expected]] of changes.entries()) {
    await t.test(name, async () => {
      const facts = await undone(database, async (inside) => {
        await inside.run(statement(`testing.fact.${index}`, sql));
        return (await readFacts(inside, wholeGraph, [one], { unknownType: "tenants", refused: () => {} })).value[0];
      });
      assert.ok(facts);
      assert.deepEqual(pick(facts), expected);
    });
  }
});

test("resources are found by type and external id, and only where the subject is", async (t) => {
  const world = await graphWorld(await testDatabase(t, graphModules));
  const table: readonly (readonly [one: FactAsk, id: string | null, granted?: boolean])[] = [
    [ask("cleo", "view", "pages", "people"), "resource:acme.pages.people", true],
    [ask("cleo", "view", "pages", "operations"), "resource:acme.pages.operations", false],
    [ask("ada", "view", "pages", "operations"), "resource:acme.pages.operations", true],
    [ask("dan", "view", "pages", "people"), "resource:acme.pages.people", false],
    [ask("eve", "view", "pages", "people"), null],
    [ask("ben", "view", "page.widget", "people:action:offboard"), "resource:acme.widget.people.action.offboard", true],
    [ask("ada", "view", "page.widget", "people:action:offboard"), "resource:acme.widget.people.action.offboard", false],
    [ask("ada", "view", "pages", "nowhere"), null],
    [ask("ada", "view_all", "pages", "*"), null],
    [ask("ada", "read", "secret", "yaml://secret/people/demo"), "resource:acme.secret.people.demo", true],
    [ask("dan", "read", "secret", "yaml://secret/people/demo"), "resource:acme.secret.people.demo", false],
    [ask("eve", "read", "secret", "yaml://secret/people/demo"), null],
    [ask("ben", "view", "identities", "group:analysts"), "group:analysts", false],
    [ask("ben", "view", "identities", "person:eve"), null],
    [ask("ben", "view", "agents", "agent:reporter"), "agent:reporter", false],
    [ask("ben", "view", "agents", "person:ben"), null],
    [ask("ben", "create", "delegations", "agent:hr-assistant"), "agent:hr-assistant", false],
    [ask("ben", "view", "delegations", "delegation:ben-hr"), "delegation:ben-hr", false],
    [ask("eve", "view", "delegations", "delegation:ben-hr"), null],
    [ask("ben", "create", "delegations", "delegation:ben-hr"), null],
    [ask("ben", "view", "delegations", "agent:hr-assistant"), null],
    [ask("ben", "tools/list", "mcp_server", "memory.demo"), "memory.demo", false],
    [call("eve", LIST), LIST, true],
    [call("eve", "memory.demo.read_graph"), null],
    [call("ben", "person:ben"), null],
  ];
  const { value } = await world.reader.facts(
    wholeGraph,
    table.map(([one]) => one),
  );
  for (const [index, [one, id, granted]] of table.entries()) {
    const detail = JSON.stringify([one.subject_id, one.action, one.resource]);
    assert.deepEqual([detail, value[index]?.resource?.node_id ?? null], [detail, id]);
    if (granted !== undefined) assert.deepEqual([detail, value[index]?.resource?.granted], [detail, granted]);
  }
  const agent = await factsOf(world, ask("cleo", "create", "delegations", "agent:hr-assistant"));
  assert.deepEqual(agent.resource?.attributes, { controller_ids: ["person:ben"], state: "active" });
  assert.ok(edges(agent).includes("- CONTROLLED_BY agent:hr-assistant person:cleo"));
  const own = await factsOf(world, ask("ada", "revoke", "delegations", "delegation:ben-hr"));
  assert.deepEqual(own.resource?.attributes, {
    state: "active",
    delegator_id: "person:ben",
    agent_id: "agent:hr-assistant",
    controller_ids: ["person:ben"],
  });
  assert.deepEqual([own.resource?.owners, own.resource?.tenant_ids], [["person:ben"], ["tenant:acme"]]);
  const operations = await factsOf(world, ask("ada", "view", "pages", "operations"));
  assert.deepEqual(operations.resource?.owners, ["person:ada"]);
  assert.deepEqual(edges(operations), [
    "+ BELONGS_TO person:ada account:ada@acme",
    "+ MEMBER_OF account:ada@acme group:platform-admins",
    "+ GRANTS_ACCESS group:platform-admins resource:acme.pages.operations",
    "+ OWNS_RESOURCE person:ada resource:acme.pages.operations",
  ]);
  const denied = await factsOf(world, ask("cleo", "view", "pages", "operations"));
  assert.deepEqual(edges(denied).at(-1), "- GRANTS_ACCESS group:analysts resource:acme.pages.operations");
});

test("grants may name actions, end, and come over nested groups, roles and business roles; owners and controllers may be groups", async (t) => {
  const world = await graphWorld(await testDatabase(t, graphModules));
  const page = "resource:acme.pages.operations";
  const granted = async (subject: string, action = "view"): Promise<boolean | undefined> =>
    (await factsOf(world, ask(subject, action, "pages", "operations"))).resource?.granted;
  await world.put({ kind: "GRANTS_ACCESS", src: "group:analysts", dst: page, props: { actions: ["view"] } });
  assert.deepEqual([await granted("cleo"), await granted("cleo", "edit"), await granted("dan")], [true, false, false]);
  await world.put({
    kind: "GRANTS_ACCESS",
    src: "group:analysts",
    dst: page,
    props: { actions: ["view"] },
    expires_at: new Date(Date.now() - 1000),
  });
  assert.equal(await granted("cleo"), false);
  await world.put({ kind: "MEMBER_OF", src: "group:contractors", dst: "group:platform-admins" });
  assert.equal(await granted("dan"), true);
  await world.put(
    { id: "role:reader", kind: "BusinessRole", name: "Auditor", tenant_id: "tenant:acme", props: {} },
    { kind: "MEMBER_OF", src: "person:cleo", dst: "role:reader" },
    { kind: "GRANTS_ACCESS", src: "role:reader", dst: page },
  );
  assert.equal(await granted("cleo"), true);
  await world.put(
    { id: "rtr:viewer", kind: "RTR", name: "Viewer", tenant_id: null, props: { resource_type: "pages", actions: ["view"] } },
    { kind: "HAS_RTR", src: "group:people-ops", dst: "rtr:viewer" },
    { kind: "GRANTS_ACCESS", src: "rtr:viewer", dst: page },
  );
  assert.equal(await granted("ben"), true);
  await world.put({ kind: "OWNS_RESOURCE", src: "group:analysts", dst: page, props: { level: "deputy" } });
  assert.deepEqual((await factsOf(world, ask("cleo", "view", "pages", "operations"))).resource?.owners, [
    "group:analysts",
    "person:ada",
    "person:cleo",
  ]);
  await world.put({ kind: "CONTROLLED_BY", src: "agent:hr-assistant", dst: "group:analysts", props: { level: "deputy" } });
  assert.deepEqual((await factsOf(world, ask("cleo", "control", "agents", "agent:hr-assistant"))).resource?.attributes["controller_ids"], [
    "group:analysts",
    "person:ben",
    "person:cleo",
  ]);
});

test("the data scope of a call is the person's, inside the agent's tenants; of a type it is there if a rule is", async (t) => {
  const world = await graphWorld(await testDatabase(t, graphModules));
  const scope = async (one: FactAsk) => (await factsOf(world, one)).data_scope;
  const masks = { salary: "null", birth_date: "year" };
  const acme = "tenant_id IN ('tenant:acme')";
  assert.deepEqual(await scope(call("ben", LIST, by("hr-assistant"))), {
    tenant_ids: ["tenant:acme"],
    row_filter_sql: acme,
    column_mask: {},
  });
  assert.deepEqual(await scope(call("cleo", LIST, by("reporter"))), {
    tenant_ids: ["tenant:acme"],
    row_filter_sql: acme,
    column_mask: masks,
  });
  assert.deepEqual(await scope(call("eve", LIST)), {
    tenant_ids: ["tenant:globex"],
    row_filter_sql: "tenant_id IN ('tenant:globex')",
    column_mask: masks,
  });
  assert.deepEqual(
    await scope(call("cleo", "memory.demo.read_graph")),
    { tenant_ids: ["tenant:acme"], row_filter_sql: acme, column_mask: {} },
    "no rule for its rows",
  );
  assert.deepEqual(await scope(ask("cleo", "list", "employee", "*")), {
    tenant_ids: ["tenant:acme"],
    row_filter_sql: acme,
    column_mask: masks,
  });
  assert.equal(await scope(ask("cleo", "view", "pages", "people")), undefined);
  await world.sql("update membership.node set tenant_id = 'tenant:globex' where id = 'account:cleo@acme'");
  for (const person of ["ben", "cleo", "eve"]) {
    const pip = (await world.reader.dataScope(wholeGraph, { subjectId: `person:${person}`, resourceType: "employee" })).value;
    assert.deepEqual(await scope(call(person, LIST)), pip, `${person}: as the data-scope question`);
  }
});

test("a batch is one snapshot, in the order of its asks, each thing once", async (t) => {
  const world = await graphWorld(await testDatabase(t, graphModules));
  const asks = Array.from({ length: 1000 }, (_none, index) =>
    index % 2 === 0 ? call("ben", LIST, by("hr-assistant")) : call(`nobody${index}`, LIST),
  );
  const { value, version } = await world.reader.facts(wholeGraph, asks);
  assert.equal(version, (await world.reader.version()).version);
  assert.deepEqual(
    value.map((facts) => facts.capability),
    asks.map((_one, index) => index % 2 === 0),
  );
});
