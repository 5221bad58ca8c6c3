import assert from "node:assert/strict";
import { test } from "node:test";
import { testDatabase } from "#testing/database.ts";
import { graphModules, servedWorld, type Rule, type ServedWorld } from "#testing/membership.ts";

const scopes = ["membership.read", "membership.write"];
const key = () => ({ "idempotency-key": crypto.randomUUID() });
const callOf =
  (world: ServedWorld) =>
  (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) =>
    world.call("ada", method, `/api/v1${path}`, { ...(body === undefined ? {} : { body }), headers, scopes });
type Call = ReturnType<typeof callOf>;
const mayEdit: Rule = ({ type }) => (type === "roles" ? "step_up_required" : true);
const put = (src: string, kind: string, dst: string) => ({ op: "put_edge", edge: { kind, src, dst } });
const drop = (src: string, kind: string, dst: string) => ({ op: "drop_edge", edge: { kind, src, dst } });
const group = (id: string, props: object = {}) => ({ op: "put_node", node: { id, kind: "Group", name: id, props } });
const change = (call: Call, changes: readonly object[], more: object = {}) =>
  call("POST", "/graph/changes", { changes, reason: "a change of roles", ...more }, key());
const importLines = (call: Call, lines: readonly object[], query = "") =>
  call("POST", `/imports?reason=a%20file${query}`, `${lines.map((line) => JSON.stringify(line)).join("\n")}\n`, {
    ...key(),
    "content-type": "application/x-ndjson",
  });
const edgeLine = (src: string, kind: string, dst: string) => ({ edge: { kind, src, dst } });

/** Ways to a role, or away from it, in one step or several. */
const touching: readonly (readonly [name: string, changes: readonly object[]])[] = [
  ["a person directly", [put("person:dan", "MEMBER_OF", "role:auditor")]],
  ["an agent directly", [put("agent:reporter", "MEMBER_OF", "role:member")]],
  ["an account in a group that has one", [put("account:dan@acme", "MEMBER_OF", "group:analysts")]],
  ["a group in such a group", [put("group:contractors", "MEMBER_OF", "group:people-ops")]],
  ["a group to a role", [put("group:contractors", "MEMBER_OF", "role:member")]],
  [
    "an account of somebody to another person",
    [drop("person:ada", "BELONGS_TO", "account:ada@acme"), put("person:dan", "BELONGS_TO", "account:ada@acme")],
  ],
  [
    "from below, the last edge first",
    [group("group:x"), put("group:x", "MEMBER_OF", "group:analysts"), put("account:dan@acme", "MEMBER_OF", "group:x")],
  ],
  [
    "from above, the last edge last",
    [group("group:x"), put("account:dan@acme", "MEMBER_OF", "group:x"), put("group:x", "MEMBER_OF", "group:analysts")],
  ],
  ["one leaves", [drop("account:cleo@acme", "MEMBER_OF", "group:analysts")]],
  [
    "one who has it gets an end",
    [{ op: "put_edge", edge: { kind: "MEMBER_OF", src: "account:cleo@acme", dst: "group:analysts", expires_at: "2100-01-01T00:00:00Z" } }],
  ],
  [
    "a group that has one goes to sleep",
    [{ op: "put_node", node: { id: "group:analysts", kind: "Group", name: "Analysts", state: "suspended" } }],
  ],
  ["a group goes with all that hangs on it", [{ op: "drop_node", id: "group:analysts", cascade: true }]],
  [
    "a group is marked",
    [{ op: "put_node", node: { id: "group:contractors", kind: "Group", name: "C", props: { provisions_roles: true } } }],
  ],
  ["a new group is marked", [group("group:x", { provisions_roles: true })]],
];

test("whatever changes who holds a role needs roles/assign, by each way and whatever is done in one step", async (t) => {
  const world = await servedWorld(t, await testDatabase(t, graphModules), { rule: mayEdit });
  const call = callOf(world);
  const before = (await world.reader.version()).version;
  for (const [name, changes] of touching)
    for (const dry_run of [false, true]) {
      const reply = await change(call, changes, { dry_run });
      assert.deepEqual([name, reply.status, reply.body.code], [name, 401, "step_up_required"]);
    }
  const direct = await call("PUT", "/edges/MEMBER_OF/person:dan/role:administrator", {});
  assert.deepEqual([direct.status, direct.body.code], [401, "step_up_required"]);
  const dropped = await call("DELETE", "/edges/MEMBER_OF/account:cleo@acme/group:analysts");
  assert.equal(dropped.body.code, "step_up_required");
  assert.equal((await world.reader.version()).version, before, "nothing was written");
  // What leads to no role asks for nothing more.
  for (const changes of [
    [group("group:y"), put("account:dan@acme", "MEMBER_OF", "group:y"), put("group:y", "MEMBER_OF", "tenant:acme")],
    [drop("account:dan@acme", "MEMBER_OF", "group:contractors")],
    [{ op: "put_node", node: { id: "group:analysts", kind: "Group", name: "Analysts renamed", system: "directory" } }],
    [{ op: "put_node", node: { id: "person:cleo", kind: "Person", name: "Cleo", state: "suspended" } }],
  ])
    assert.equal((await change(call, changes)).status, 200);
  const woken = await change(call, [{ op: "put_node", node: { id: "person:cleo", kind: "Person", name: "Cleo", state: "active" } }]);
  assert.equal(woken.body.code, "step_up_required", "who wakes somebody gives the role again");
});

test("who may assign roles does, and the decision that allowed it is on record; another may not", async (t) => {
  const world = await servedWorld(t, await testDatabase(t, graphModules));
  const call = callOf(world);
  for (const [name, changes] of touching.slice(0, 5)) assert.deepEqual([name, (await change(call, changes)).status], [name, 200]);
  const asked = world.asked.map(({ type, action }) => `${type}/${action}`);
  assert.deepEqual(asked.slice(0, 2), ["graph/edit", "roles/assign"]);
  const entry = world.entries.find(({ data }) => data?.["op"] === "graph_changes");
  assert.equal(entry?.decisionId, "d_2");
  const refused = await servedWorld(t, await testDatabase(t, graphModules), { rule: ({ type }) => type !== "roles" });
  assert.deepEqual((await change(callOf(refused), touching[0]?.[1] ?? [])).status, 403);
});

test("a file changes who holds a role only through groups that an administrator marked", async (t) => {
  const world = await servedWorld(t, await testDatabase(t, graphModules));
  const call = callOf(world);
  const outside = [
    edgeLine("account:dan@acme", "MEMBER_OF", "group:platform-admins"),
    edgeLine("person:dan", "MEMBER_OF", "role:administrator"),
    edgeLine("person:dan", "BELONGS_TO", "account:new@acme"),
    { node: { id: "group:analysts", kind: "Group", name: "A", props: { provisions_roles: true } } },
    { drop: { edge: { kind: "MEMBER_OF", src: "account:cleo@acme", dst: "group:analysts" } } },
  ];
  await world.put({
    id: "account:new@acme",
    kind: "Account",
    name: "new",
    tenant_id: "tenant:acme",
    props: { login: "new", system: "directory" },
  });
  assert.equal((await change(call, [put("account:new@acme", "MEMBER_OF", "group:analysts")])).status, 200);
  for (const line of outside)
    for (const query of ["", "&dry_run=true"]) {
      const reply = await importLines(call, [line], query);
      const [issue] = reply.body.errors;
      assert.deepEqual([JSON.stringify(line), reply.status, issue.line, issue.code], [JSON.stringify(line), 422, 1, "access_denied"]);
      assert.match(issue.message, /provision/);
    }
  const marked = group("group:analysts", { provisions_roles: true });
  assert.equal((await change(call, [marked])).status, 200);
  const inside = [
    edgeLine("account:dan@acme", "MEMBER_OF", "group:analysts"),
    edgeLine("group:contractors", "MEMBER_OF", "group:analysts"),
  ];
  for (const line of inside) assert.deepEqual([(await importLines(call, [line])).status], [200]);
  // The mark is no way around: neither for the group itself nor beside it.
  assert.equal((await importLines(call, [edgeLine("group:analysts", "MEMBER_OF", "role:administrator")])).status, 422);
  assert.equal((await importLines(call, [edgeLine("group:analysts", "MEMBER_OF", "group:platform-admins")])).status, 422);
  const held = await call("GET", "/roles/holders?holder_id=person:dan");
  assert.deepEqual(
    held.body.items.map((item: { role_id: string; provisioned: boolean; path: { to: string }[] }) => [
      item.role_id,
      item.provisioned,
      item.path.map(({ to }) => to),
    ]),
    [
      ["role:member", true, ["account:dan@acme", "group:analysts", "role:member"]],
      ["role:member", true, ["account:dan@acme", "group:contractors", "group:analysts", "role:member"]],
    ],
  );
  const one = await call("GET", "/roles/holders?holder_id=person:dan&limit=1");
  const other = await call("GET", `/roles/holders?holder_id=person:dan&limit=1&cursor=${encodeURIComponent(one.body.next_cursor)}`);
  assert.deepEqual([...one.body.items, ...other.body.items], held.body.items);
  assert.equal(other.body.next_cursor, undefined);
});

test("the last administrator of a tenant stays, whatever would take the role away", async (t) => {
  const world = await servedWorld(t, await testDatabase(t, graphModules));
  const call = callOf(world);
  const node = (id: string, kind: string, more: object) => ({ op: "put_node", node: { id, kind, name: id, ...more } });
  const account = { props: { login: "ada", system: "directory" } };
  const ways: readonly (readonly object[])[] = [
    [drop("group:platform-admins", "MEMBER_OF", "role:administrator")],
    [drop("account:ada@acme", "MEMBER_OF", "group:platform-admins")],
    [drop("person:ada", "BELONGS_TO", "account:ada@acme")],
    [{ op: "put_edge", edge: { kind: "BELONGS_TO", src: "person:ada", dst: "account:ada@acme", expires_at: "2100-01-01T00:00:00Z" } }],
    [node("person:ada", "Person", { state: "suspended" })],
    [node("account:ada@acme", "Account", { ...account, state: "disabled" })],
    [node("group:platform-admins", "Group", { state: "suspended" })],
    [{ op: "drop_node", id: "group:platform-admins", cascade: true }],
    [{ op: "drop_node", id: "person:ada", cascade: true }],
    [drop("account:ada@acme", "MEMBER_OF", "group:platform-admins"), put("agent:reporter", "MEMBER_OF", "role:administrator")],
  ];
  for (const changes of ways) {
    const reply = await change(call, changes);
    assert.deepEqual([JSON.stringify(changes), reply.status, reply.body.code], [JSON.stringify(changes), 409, "last_administrator"]);
  }
  const removed = await importLines(call, [{ node: { id: "person:ada", kind: "Person", name: "Ada", state: "disabled" } }]);
  assert.deepEqual([removed.status, removed.body.errors[0].code], [422, "last_administrator"]);
  // In one step with a successor it goes; two who each take the other away do not both succeed.
  assert.equal((await change(call, [put("person:ben", "MEMBER_OF", "role:administrator")])).status, 200);
  const both = await Promise.all([
    change(call, [drop("person:ben", "MEMBER_OF", "role:administrator")]),
    change(call, [drop("account:ada@acme", "MEMBER_OF", "group:platform-admins")]),
  ]);
  assert.deepEqual(both.map(({ status }) => status).toSorted(), [200, 409]);
});

test("roles are shared and read-only, give nothing that one tenant says, and nothing else passes for one", async (t) => {
  const world = await servedWorld(t, await testDatabase(t, graphModules));
  const call = callOf(world);
  const cases: readonly (readonly [change: object, status: number])[] = [
    [{ op: "put_node", node: { id: "role:administrator", kind: "BusinessRole", name: "mine" } }, 409],
    [{ op: "drop_node", id: "role:member", cascade: true }, 403],
    [put("role:member", "MEMBER_OF", "tenant:acme"), 403],
    [put("role:member", "GRANTS_ACCESS", "resource:acme.pages.operations"), 403],
    [group("role:mine"), 422],
  ];
  for (const [one, status] of cases)
    assert.deepEqual([JSON.stringify(one), (await change(call, [one])).status], [JSON.stringify(one), status]);
  const all = await call("GET", "/roles/holders?limit=2");
  assert.equal(all.body.items?.length, 2, JSON.stringify(all.body));
  const rest = await call("GET", `/roles/holders?limit=2&cursor=${encodeURIComponent(all.body.next_cursor)}`);
  assert.deepEqual(
    [...all.body.items, ...rest.body.items].map((item: { role_id: string; holder_id: string }) => `${item.role_id} ${item.holder_id}`),
    ["role:administrator person:ada", "role:member person:ben", "role:member person:cleo", "role:operator person:ben"],
  );
  // The page goes on behind its last holder, also where one before it is none any more.
  await world.sql("update membership.edge set expires_at = now() where src = 'account:ada@acme' and dst = 'group:platform-admins'");
  const later = await call("GET", `/roles/holders?limit=2&cursor=${encodeURIComponent(all.body.next_cursor)}`);
  assert.deepEqual(later.body.items, rest.body.items);
  const foreign = await world.call("eve", "GET", "/api/v1/roles/holders?role_id=role:administrator");
  assert.deepEqual(foreign.body.items, [], "another tenant's holders are not told");
});
