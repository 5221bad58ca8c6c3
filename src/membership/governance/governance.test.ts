import assert from "node:assert/strict";
import { test } from "node:test";
import { testDatabase } from "#testing/database.ts";
import { graphModules, servedWorld, type Reply } from "#testing/membership.ts";

const scopes = ["membership.read", "membership.write", "membership.delegate"];
const AGENT = "/api/v1/agent/agents/agent:reporter";

const served = async (t: Parameters<typeof servedWorld>[0]) => {
  const world = await servedWorld(t, await testDatabase(t, graphModules));
  const call = (method: string, path: string, body?: unknown, as = "ada", headers = {}): Promise<Reply> =>
    world.call(as, method, path, { ...(body === undefined ? {} : { body }), scopes, headers });
  return { world, call };
};
type Controller = { controller_id: string; level: string; granted_by: string };
const controllersOf = (reply: Reply): unknown =>
  reply.body.controllers.map(({ controller_id, level, granted_by }: Controller) => [controller_id, level, granted_by]);

test("a new primary controller makes the old one a deputy, in one version; the last one is not lost by accident", async (t) => {
  const { world, call } = await served(t);
  const before = Number((await world.reader.version()).version);
  const put = await call("PUT", `${AGENT}/control`, { controller_id: "person:ben", reason: "Cleo is away" });
  assert.deepEqual([put.status, put.body.level, put.body.granted_by, put.body.graph_version], [200, "primary", "person:ada", before + 1]);
  assert.deepEqual(controllersOf(await call("GET", `${AGENT}/controllers`)), [
    ["person:ben", "primary", "person:ada"],
    ["person:cleo", "deputy", "person:ada"],
  ]);
  assert.equal(
    (await call("PUT", `${AGENT}/control`, { controller_id: "person:ben" })).body.graph_version,
    before + 1,
    "the same again is none",
  );
  assert.equal((await call("DELETE", `${AGENT}/control`)).body.code, "ambiguous");
  assert.equal((await call("DELETE", `${AGENT}/control?controller_id=person:dan`)).status, 404);
  assert.equal((await call("DELETE", `${AGENT}/control?controller_id=person:cleo&reason=she%20left`)).status, 204);
  const last = await call("DELETE", `${AGENT}/control`);
  assert.deepEqual([last.status, last.body.code], [409, "last_controller"]);

  // Forced, what the agent holds rests in the same version, until somebody controls it again and lets it go on.
  const version = Number((await world.reader.version()).version);
  assert.equal((await call("DELETE", `${AGENT}/control?force=true`)).status, 204);
  assert.equal(Number((await world.reader.version()).version), version + 1);
  const delegation = "/api/v1/delegations/delegation:cleo-rep";
  const paused = await call("GET", delegation);
  assert.deepEqual([paused.body.status, paused.body.hold], ["paused", "uncontrolled"]);
  const published = (await world.published()).filter(({ type }) => type === "delegation.paused");
  assert.equal(published.length, 1);
  const tag = { "if-match": paused.headers.get("etag") ?? "" };
  const early = await call("POST", `${delegation}/resume`, { reason: "go on" }, "cleo", tag);
  assert.deepEqual([early.status, early.body.code], [422, "agent_uncontrolled"]);
  await call("PUT", `${AGENT}/control`, { controller_id: "group:analysts" });
  const resumed = await call("POST", `${delegation}/resume`, { reason: "go on" }, "cleo", tag);
  assert.deepEqual([resumed.status, resumed.body.status], [200, "active"], JSON.stringify(resumed.body));
  const acts = world.entries
    .filter(({ category }) => category === "governance")
    .map(({ data, resource }) => [data["op"], resource.id, data["reason"]]);
  assert.deepEqual(acts.slice(0, 1), [["agent_controlled", "agent:reporter", "Cleo is away"]]);
});

test("an agent is switched off with all that it holds, and goes on; a role on a resource is seen and taken away", async (t) => {
  const { world, call } = await served(t);
  const agent = "/api/v1/agent/agents/agent:hr-assistant";
  const able = async () =>
    (await world.call("service:pdp", "GET", "/api/v1/pip/membership/capabilities?user_id=person:ben")).body.capabilities.length > 0;
  const off = await call("POST", `${agent}/suspend`, { reason: "It behaves oddly" });
  assert.deepEqual([off.status, off.body.state, off.body.delegations_stopped, off.body.running_calls], [200, "suspended", 1, []]);
  assert.equal(await able(), false);
  assert.equal((await call("POST", `${agent}/suspend`, { reason: "It behaves oddly" })).body.graph_version, off.body.graph_version);
  for (const [path, as] of [
    [agent, "eve"],
    ["/api/v1/agent/agents/person:ben", "ada"],
    ["/api/v1/agent/agents/agent:none", "ada"],
  ] as const)
    assert.equal((await call("POST", `${path}/suspend`, { reason: "just so" }, as)).status, 404);
  const on = await call("POST", `${agent}/resume`, { reason: "It was us" });
  assert.deepEqual([on.body.state, on.body.delegations_stopped, await able()], ["active", 0, true]);
  assert.deepEqual(
    world.entries.map(({ data }) => [data["op"], data["reason"]]),
    [
      ["agent_suspended", "It behaves oddly"],
      ["agent_suspended", "It behaves oddly"],
      ["agent_resumed", "It was us"],
    ],
  );

  await world.sql("update membership.node set state = 'disabled' where id = 'agent:hr-assistant'");
  for (const act of ["suspend", "resume"]) {
    const reply = await call("POST", `${agent}/${act}`, { reason: "Once more" });
    assert.deepEqual([act, reply.status, reply.body.code, await able()], [act, 409, "conflict", false]);
  }
  await world.sql("update membership.node set state = 'active' where id = 'agent:hr-assistant'");

  const rtr = { kind: "RTR", name: "editor", props: { resource_type: "pages", actions: ["edit"] } };
  await call("PUT", "/api/v1/nodes/rtr:editor", rtr, "ada", { "if-none-match": "*" });
  const body = { actor_label: "Person", actor_id: "person:ben", resource_id: "resource:acme.pages.people", rtr: "editor" };
  const { assignment_id } = (await call("POST", "/api/v1/rtrs/assign", body)).body;
  const assignments = async (query: string, as = "ada") =>
    (await call("GET", `/api/v1/rtrs/assignments?${query}`, undefined, as)).body.items;
  const expected = {
    assignment_id,
    actor_id: "person:ben",
    resource_id: "resource:acme.pages.people",
    rtr: "editor",
    rtr_id: "rtr:editor",
  };
  assert.deepEqual(await assignments("actor_id=person:ben"), [{ ...expected, expires_at: null }]);
  assert.deepEqual([await assignments("actor_id=person:cleo"), await assignments("", "eve")], [[], []]);
  for (const [id, as, status] of [
    [assignment_id, "eve", 404],
    [assignment_id, "ada", 204],
    [assignment_id, "ada", 404],
    ["delegation:ben-hr", "ada", 404],
  ] as const)
    assert.equal((await call("DELETE", `/api/v1/rtrs/assignments/${id}`, undefined, as)).status, status);
  const owners = "/api/v1/resources/resource:acme.pages.operations/owners";
  await call("POST", owners, { owner_identity_id: "person:ben", role: "deputy" });
  for (const [as, status] of [
    ["eve", 404],
    ["ada", 204],
    ["ada", 404],
  ] as const)
    assert.equal((await call("DELETE", `${owners}/person:ben?reason=moved`, undefined, as)).status, status);
});

test("owners are named by level or role, of a shared tool in each tenant for itself", async (t) => {
  const { call } = await served(t);
  const owners = "/api/v1/resources/resource:acme.pages.operations/owners";
  const made = await call("POST", owners, { owner_identity_id: "person:ben", role: "deputy" });
  assert.deepEqual([made.status, made.body.level, made.body.role], [201, "deputy", "deputy"]);
  assert.equal((await call("POST", owners, { owner_identity_id: "person:ben", level: "deputy" })).status, 200);
  assert.equal((await call("POST", owners, { owner_identity_id: "person:ben", level: "deputy", role: "primary" })).body.code, "ambiguous");
  assert.equal((await call("POST", owners, { owner_identity_id: "group:people-ops" })).status, 201);
  assert.deepEqual(
    (await call("GET", owners)).body.owners.map((one: { owner_identity_id: string; role: string }) => [one.owner_identity_id, one.role]),
    [
      ["group:people-ops", "primary"],
      ["person:ada", "deputy"],
      ["person:ben", "deputy"],
    ],
  );
  const shared = "/api/v1/resources/people.demo.get_employee/owners";
  assert.equal((await call("POST", shared, { owner_identity_id: "person:ben" })).status, 201);
  assert.equal((await call("POST", shared, { owner_identity_id: "person:eve" }, "eve")).status, 201);
  for (const [as, id] of [
    ["ada", "person:ben"],
    ["eve", "person:eve"],
  ] as const)
    assert.deepEqual(
      (await call("GET", shared, undefined, as)).body.owners.map((one: { owner_identity_id: string }) => one.owner_identity_id),
      [id],
    );
});

test("a role on a resource is given by id or name, to whom the label says, for a while", async (t) => {
  const { call } = await served(t);
  const fresh = { "if-none-match": "*" };
  await call(
    "PUT",
    "/api/v1/nodes/rtr:editor",
    { kind: "RTR", name: "editor", props: { resource_type: "pages", actions: ["edit"] } },
    "ada",
    fresh,
  );
  await call(
    "PUT",
    "/api/v1/nodes/rtr:keeper",
    { kind: "RTR", name: "keeper", props: { resource_type: "secret", actions: ["read"] } },
    "ada",
    fresh,
  );
  const ask = { actor_label: "Person", actor_id: "person:ben", resource_id: "resource:acme.pages.people", rtr: "editor" };
  const made = await call("POST", "/api/v1/rtrs/assign", { ...ask, expires_at: "2100-01-01T00:00:00Z" });
  assert.deepEqual([made.status, made.body.rtr_id, made.body.rtr], [201, "rtr:editor", "editor"]);
  assert.equal((await call("POST", "/api/v1/rtrs/assign", { ...ask, rtr: "rtr:editor", expires_at: "2100-01-01T00:00:00Z" })).status, 200);
  for (const [what, body, status, code] of [
    ["another label", { ...ask, actor_label: "Group" }, 422, "label_mismatch"],
    ["a role on another type", { ...ask, rtr: "keeper" }, 422, "unprocessable"],
    ["a role that there is not", { ...ask, rtr: "nobody" }, 422, "unprocessable"],
    ["an actor who is not there", { ...ask, actor_id: "person:nobody" }, 404, "not_found"],
    ["an actor of another tenant", { ...ask, actor_id: "person:eve" }, 404, "not_found"],
    ["what is no resource", { ...ask, resource_id: "group:analysts" }, 404, "not_found"],
    ["a shared service", { ...ask, actor_label: "Service", actor_id: "service:crud" }, 403, "access_denied"],
    ["a member that there is not", { ...ask, role: "x" }, 422, "unknown_member"],
  ] as const) {
    const reply = await call("POST", "/api/v1/rtrs/assign", body);
    assert.deepEqual([what, reply.status, reply.body.code], [what, status, code]);
  }
  for (const [method, path, body, status, code] of [
    ["PUT", "/api/v1/agent/agents/person:ben/control", { controller_id: "person:ada" }, 404, "not_found"],
    ["PUT", `${AGENT}/control`, { controller_id: "agent:hr-assistant" }, 422, "edge_not_allowed"],
    ["PUT", `${AGENT}/control`, { controller_id: "person:eve" }, 422, "unprocessable"],
    ["PUT", "/api/v1/agent/agents/service:crud/control", { controller_id: "person:ada" }, 403, "access_denied"],
    ["POST", "/api/v1/resources/person:ben/owners", { owner_identity_id: "person:ada" }, 404, "not_found"],
    ["GET", "/api/v1/resources/a%20b/owners", undefined, 404, "not_found"],
  ] as const) {
    const reply = await call(method, path, body);
    assert.deepEqual([path, reply.status, reply.body.code], [path, status, code]);
  }

  // What is wrong with somebody who is named is told at the member that names them.
  const rtrs = "/api/v1/rtrs/assign";
  const owners = "/api/v1/resources/resource:acme.pages.people/owners";
  const crud = { ...ask, actor_label: "Service", actor_id: "service:crud" };
  for (const [method, path, body, place] of [
    ["PUT", `${AGENT}/control`, { controller_id: "person:nobody" }, "/controller_id"],
    ["PUT", `${AGENT}/control`, { controller_id: "agent:hr-assistant" }, "/controller_id"],
    ["PUT", `${AGENT}/control`, { controller_id: "agent:reporter" }, "/controller_id"],
    ["PUT", "/api/v1/agent/agents/service:crud/control", { controller_id: "person:ada" }, "/"],
    ["POST", owners, { owner_identity_id: "person:nobody" }, "/owner_identity_id"],
    ["POST", owners, { owner_identity_id: "agent:reporter" }, "/owner_identity_id"],
    ["POST", rtrs, crud, "/actor_id"],
  ] as const) {
    const reply = await call(method, path, body);
    assert.deepEqual([path, body, reply.body.errors?.map((issue: { path: string }) => issue.path)], [path, body, [place]]);
  }

  // A role that goes takes along what it gave: another one of its name gives nothing to whoever had it.
  const role = (cascade: boolean) => call("DELETE", `/api/v1/nodes/rtr:editor?cascade=${cascade}`, undefined, "ada", { "if-match": "*" });
  const assigned = async () => (await call("GET", "/api/v1/rtrs/assignments?actor_id=person:ben")).body.items.length as number;
  assert.deepEqual([(await role(false)).body.code, await assigned()], ["has_edges", 1]);
  assert.deepEqual([(await role(true)).status, await assigned()], [204, 0]);
  const again = { kind: "RTR", name: "editor", props: { resource_type: "pages", actions: ["delete"] } };
  assert.deepEqual([(await call("PUT", "/api/v1/nodes/rtr:editor", again, "ada", fresh)).status, await assigned()], [201, 0]);
});

test("what an agent's absence would take away is told to whoever may switch it off, and nothing is switched", async (t) => {
  const world = await servedWorld(t, await testDatabase(t, graphModules), {
    rule: ({ sub, action }) => action !== "suspend" || sub === "person:ada",
  });
  const impact = (as: string, id = "agent:hr-assistant") => world.call(as, "GET", `/api/v1/agent/agents/${id}/impact`, { scopes });
  const held = await world.call("service:crud", "POST", "/api/v1/delegations/reservations", {
    body: { call_id: "runs", user_id: "person:ben", agent_id: "agent:hr-assistant", tool_id: "people.demo.list_employees", usd: 0 },
  });
  assert.equal(held.status, 201, JSON.stringify(held.body));
  const { status, body } = await impact("ada");
  assert.equal(status, 200, JSON.stringify(body));
  assert.deepEqual(
    body.tools_lost.map(({ user_id, tool_id }: { user_id: string; tool_id: string }) => [user_id, tool_id]),
    ["get_employee", "list_employees", "update_salary"].map((name) => ["person:ben", `people.demo.${name}`]),
  );
  assert.deepEqual([body.running_calls.map(({ call_id }: { call_id: string }) => call_id), body.children], [["runs"], []]);
  assert.deepEqual((await impact("ada")).body.tools_lost.length, 3, "it is still there");
  assert.equal((await impact("ben")).body.code, "access_denied");
  for (const [as, id] of [
    ["ada", "agent:none"],
    ["ada", "person:ben"],
  ] as const)
    assert.equal((await impact(as, id)).status, 404);
});

test("effective tools say of each whether it works for somebody, and what stands in the way", async (t) => {
  const world = await servedWorld(t, await testDatabase(t, graphModules), {
    rule: ({ sub, type, id }) => (type === "decisions" ? sub === "person:ada" : id === "people.demo.update_salary" ? "not_granted" : true),
  });
  const tools = async (as: string, query = "", id = "agent:hr-assistant") => {
    const { status, body } = await world.call(as, "GET", `/api/v1/agent/agents/${id}/effective-tools${query}`, { scopes });
    return status === 200
      ? body.tools.map(({ tool_id, works, delegation_id, blocked_by }: Record<string, unknown>) => [
          tool_id,
          works,
          delegation_id,
          blocked_by,
        ])
      : [status, body.code];
  };
  const ben = [
    ["people.demo.get_employee", "yes", "delegation:ben-hr", []],
    ["people.demo.list_employees", "yes", "delegation:ben-hr", []],
    ["people.demo.update_salary", "no", "delegation:ben-hr", ["not_granted"]],
    ["sallyport.local.search_identities", "no", "delegation:ben-hr", ["capability_missing"]],
  ];
  assert.deepEqual(await tools("ben"), ben);
  assert.deepEqual(await tools("ada", "?user_id=person:ben"), ben);
  assert.deepEqual(await tools("ada", "?user_id=person:ben&limit=2"), ben.slice(0, 2));
  assert.deepEqual(await tools("cleo", "?user_id=person:ben"), [403, "access_denied"]);
  const none = (await tools("cleo")) as readonly (readonly unknown[])[];
  assert.ok(
    none.every(
      ([, works, delegation, blocks]) => works === "no" && delegation === undefined && String(blocks).startsWith("delegation_required"),
    ),
  );
  const [{ day } = { day: "" }] = await world.sql<{ day: string }>("select to_char(now() at time zone 'utc', 'dy') as day");
  const week = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];
  // Neither today nor tomorrow, should it be midnight meanwhile.
  const days = week.filter((one) => one !== day && one !== week[(week.indexOf(day) + 1) % 7]);
  const constrain = (id: string, constraints: object) =>
    world.sql(`update membership.delegation set constraints = '${JSON.stringify(constraints)}' where id = '${id}'`);
  await constrain("delegation:ben-hr", { hours: { tz: "UTC", days, from: "00:00", to: "24:00" } });
  assert.deepEqual((await tools("ben")).slice(0, 2), [
    ["people.demo.get_employee", "no", "delegation:ben-hr", ["outside_hours"]],
    ["people.demo.list_employees", "no", "delegation:ben-hr", ["outside_hours"]],
  ]);
  await constrain("delegation:ben-hr", {});
  await world.sql("update membership.delegation set status = 'paused', hold = 'manual' where id = 'delegation:ben-hr'");
  assert.deepEqual((await tools("ben"))[0], ["people.demo.get_employee", "no", "delegation:ben-hr", ["delegation_inactive"]]);
  for (const [query, id] of [
    ["?user_id=person:nobody", "agent:hr-assistant"],
    ["?user_id=agent:reporter", "agent:hr-assistant"],
    ["", "person:ben"],
  ] as const)
    assert.deepEqual(await tools("ada", query, id), [404, "not_found"]);
});
