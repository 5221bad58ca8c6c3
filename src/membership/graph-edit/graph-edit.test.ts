import assert from "node:assert/strict";
import { test } from "node:test";
import { nodeKindNames, edgeKindNames } from "#membership/model/kinds.ts";
import { testDatabase } from "#testing/database.ts";
import { graphModules, servedWorld, type CallMore, type Reply, type ServedWorld } from "#testing/membership.ts";

const scopes = ["membership.read", "membership.write", "membership.delegate"];
const callAs =
  (world: ServedWorld, as = "ada") =>
  (method: string, path: string, body?: unknown, headers: CallMore["headers"] = {}): Promise<Reply> =>
    world.call(as, method, `/api/v1${path}`, { ...(body === undefined ? {} : { body }), headers, scopes });
const fresh = { "if-none-match": "*" };
const key = () => ({ "idempotency-key": crypto.randomUUID() });

/** One of every kind, as a tenant writes it. */
const nodes: Readonly<Record<string, { id: string; props?: object }>> = {
  Person: { id: "person:new", props: { email: "new@acme.example", attributes: { badge: "o'neil %_\\ \u202e 🦀 İ" } } },
  Account: { id: "account:new@acme", props: { login: "new", system: "directory" } },
  AIAgent: { id: "agent:new", props: { client_id: "agent:new", trust_score: 0.5 } },
  Service: { id: "service:new", props: { client_id: "service:new", type: "workload" } },
  MCPService: { id: "mcp:new", props: { service_type: "mcp", trust: "pinned", managed_by: "registry" } },
  Group: { id: "group:new" },
  BusinessRole: { id: "role:new" },
  Location: { id: "location:new", props: { country: "CH" } },
  Tenant: { id: "tenant:acme", props: { hosts: ["acme.example"] } },
  Resource: { id: "resource:new", props: { type: "pages" } },
  RTR: { id: "rtr:new", props: { resource_type: "pages", actions: ["view"] } },
  Policy: { id: "policy:new", props: { rev: "1", uri: "https://policies.example/1" } },
  SaaSApp: { id: "saas:new", props: { audience: "https://new.example", scopes: ["a", "b"] } },
  Tool: { id: "new.tool", props: { title: "New" } },
  MCPResource: { id: "mcpres:new", props: { uri: "file:///new" } },
  MCPPrompt: { id: "mcpprompt:new", props: { version: "1", arguments: [] } },
  MCPPolicyBinding: { id: "binding:new", props: { action: "tools/call", priority: 1, enabled: true } },
};
/** One of every kind that is an edge and no more. */
const edges: Readonly<Record<string, readonly [src: string, dst: string, more?: object, query?: string]>> = {
  BELONGS_TO: ["person:new", "account:new@acme"],
  MEMBER_OF: ["account:new@acme", "group:new"],
  GRANTS_ACCESS: ["group:new", "resource:new", { props: { actions: ["view"] }, expires_at: "2100-01-01T00:00:00Z" }],
  HAS_RTR: ["group:new", "rtr:new"],
  HAS_RTR_AT: ["group:new", "resource:new", {}, "?discr=rtr:new"],
  LOCATED_IN: ["person:new", "location:new"],
  USES_TENANT: ["service:new", "tenant:acme"],
  POLICY_REF: ["new.tool", "binding:new"],
  PROVIDES: ["mcp:new", "new.tool"],
  PROVIDES_RESOURCE: ["mcp:new", "mcpres:new"],
  OFFERS_PROMPT: ["mcp:new", "mcpprompt:new"],
  HAS_CAPABILITY: ["agent:new", "new.tool", { props: { granted_by: "person:ada" }, digest: "d1" }],
  CONTROLLED_BY: ["agent:new", "person:new", { props: { level: "primary" } }],
  OWNS_RESOURCE: ["person:new", "resource:new", { props: { level: "primary" } }],
  REQUIRES: ["new.tool", "saas:new", { props: { scopes: ["a"] } }],
};
const putAll = async (call: ReturnType<typeof callAs>): Promise<void> => {
  for (const [kind, { id, props = {} }] of Object.entries(nodes)) {
    const tag = id === "tenant:acme" ? { "if-match": '"1"' } : fresh;
    const reply = await call("PUT", `/nodes/${id}`, { kind, name: `New ${kind}`, props, reason: "a new one" }, tag);
    assert.deepEqual([kind, reply.status, reply.headers.get("etag")], [kind, ...(id === "tenant:acme" ? [200, '"2"'] : [201, '"1"'])]);
  }
  for (const [kind, [src, dst, more = {}, query = ""]] of Object.entries(edges)) {
    const reply = await call("PUT", `/edges/${kind}/${src}/${dst}${query}`, { ...more, reason: "joined" });
    assert.deepEqual([kind, reply.status, reply.body?.errors], [kind, 201, undefined]);
  }
};

test("every kind of node and edge is written by an endpoint, each write one version that says who, when and why", async (t) => {
  const world = await servedWorld(t, await testDatabase(t, graphModules));
  const call = callAs(world);
  assert.deepEqual(Object.keys(nodes).toSorted(), [...nodeKindNames].toSorted());
  assert.deepEqual([...Object.keys(edges), "DELEGATES_TO"].toSorted(), [...edgeKindNames].toSorted());
  const before = Number((await world.reader.version()).version);
  await putAll(call);
  const written = Object.keys(nodes).length + Object.keys(edges).length;
  assert.equal(Number((await world.reader.version()).version), before + written);
  const { body } = await call("GET", `/graph/changes?since=${before + 1}&limit=500`);
  assert.equal(body.items.length, written);
  for (const item of body.items)
    assert.deepEqual(
      [item.actor, item.source, ["a new one", "joined"].includes(item.reason), item.tenant_id, item.ops.length],
      ["person:ada", "api", true, "tenant:acme", 1],
    );
  // The same again is no version.
  for (const [kind, [src, dst, more = {}, query = ""]] of Object.entries(edges))
    assert.equal((await call("PUT", `/edges/${kind}/${src}/${dst}${query}`, more)).status, 200);
  assert.equal(Number((await world.reader.version()).version), before + written);
  const made = world.entries.filter(({ category }) => category === "governance");
  assert.deepEqual(
    [made[0]?.resource, made[0]?.actor.subject, made[0]?.data],
    [{ type: "graph", id: "person:new" }, "person:ada", { op: "graph_put_node", reason: "a new one" }],
  );
  // A delegation is the sixteenth kind; it has endpoints of its own.
  const delegated = await call(
    "POST",
    "/delegations",
    { agent_id: "agent:new", capabilities: ["new.tool"], budget_usd: 0, max_steps: 1, purpose: "the new one" },
    key(),
  );
  assert.equal(delegated.status, 201);
  const direct = await call("PUT", "/edges/DELEGATES_TO/person:ben/agent:new", {});
  assert.deepEqual([direct.status, direct.body.code], [422, "edge_not_allowed"]);
});

test("a node is changed by its tag alone, and goes when nothing hangs on it", async (t) => {
  const world = await servedWorld(t, await testDatabase(t, graphModules));
  const call = callAs(world);
  const group = { kind: "Group", name: "New", props: { description: "x" } };
  assert.equal((await call("PUT", "/nodes/group:new", group)).body.code, "if_match_required");
  assert.equal((await call("PUT", "/nodes/group:new", group, { "if-match": '"1"' })).status, 404);
  assert.equal((await call("PUT", "/nodes/group:new", group, fresh)).status, 201);
  const again = await call("PUT", "/nodes/group:new", group, fresh);
  assert.deepEqual([again.status, again.body.code, again.headers.get("etag")], [412, "stale_version", '"1"']);
  assert.match(again.body.detail, /there already/);
  const both = await Promise.all(
    ["A", "B"].map((name) => call("PATCH", "/nodes/group:new", { name, display_name: "D" }, { "if-match": '"1"' })),
  );
  assert.deepEqual(both.map(({ status }) => status).toSorted(), [200, 412]);
  const patch = await call("PATCH", "/nodes/group:new", { display_name: null, props: { description: null } }, { "if-match": '"2"' });
  assert.deepEqual([patch.body.display_name, patch.body.props, patch.headers.get("etag")], [null, {}, '"3"']);
  assert.deepEqual((await call("GET", "/identity_nodes/group:new")).headers.get("etag"), '"3"');
  assert.equal((await call("PUT", "/edges/MEMBER_OF/group:new/tenant:acme", {})).status, 201);
  const held = await call("DELETE", "/nodes/group:new", undefined, { "if-match": '"3"' });
  assert.deepEqual([held.status, held.body.code], [409, "has_edges"]);
  const stale = await call("DELETE", "/nodes/group:new?cascade=true", undefined, { "if-match": '"2"' });
  assert.deepEqual([stale.status, stale.headers.get("etag")], [412, '"3"']);
  const gone = await call("DELETE", "/nodes/group:new?cascade=true&reason=over%20now", undefined, { "if-match": '"3"' });
  assert.equal(gone.status, 204);
  const { body } = await call("GET", `/graph/changes?since=${gone.headers.get("x-graph-version")}`);
  assert.deepEqual(
    body.items.map((item: { reason: string; ops: { op: string }[] }) => [item.reason, item.ops.map(({ op }) => op)]),
    [["over now", ["drop_edge", "drop_node"]]],
  );
  const kept = await call("DELETE", "/nodes/agent:hr-assistant?cascade=true", undefined, { "if-match": '"1"' });
  assert.deepEqual([kept.status, kept.body.code], [409, "has_edges"], "what was delegated stays on record");
});

test("a patch of a node is merged at every depth: what it does not name stays, and null takes away what it names", async (t) => {
  const world = await servedWorld(t, await testDatabase(t, graphModules));
  const call = callAs(world);
  const props = { email: "new@acme.example", attributes: { badge: "7", team: "payroll" } };
  const person = { kind: "Person", name: "New", display_name: "New One", props };
  assert.equal((await call("PUT", "/nodes/person:new", person, fresh)).status, 201);
  const { email } = props;
  for (const [what, patch, kept] of [
    ["another value", { props: { attributes: { team: "audit" } } }, { email, attributes: { badge: "7", team: "audit" } }],
    ["one more", { props: { attributes: { floor: "2" } } }, { email, attributes: { badge: "7", team: "audit", floor: "2" } }],
    ["one less", { props: { attributes: { team: null } } }, { email, attributes: { badge: "7", floor: "2" } }],
    ["a name alone", { name: "Newer" }, { email, attributes: { badge: "7", floor: "2" } }],
    ["none of a prop", { props: { attributes: null } }, { email }],
    ["no props", { props: null }, {}],
    ["the first", { props: { attributes: { badge: "8", team: null } } }, { attributes: { badge: "8" } }],
  ] as const) {
    const reply = await call("PATCH", "/nodes/person:new", patch, { "if-match": "*" });
    assert.deepEqual([what, reply.status, reply.body.props], [what, 200, kept], JSON.stringify(reply.body));
  }
  // What it comes to is looked at as a whole.
  const long = await call("PATCH", "/nodes/person:new", { props: { attributes: { team: "x".repeat(257) } } }, { "if-match": "*" });
  assert.deepEqual([long.status, long.body.errors[0].path], [422, "/props/attributes/team"]);
  const { body } = await call("GET", "/identity_nodes/person:new");
  assert.deepEqual([body.name, body.display_name, body.properties], ["Newer", "New One", { attributes: { badge: "8" } }]);
});

test("an edge ends softly, is honoured by its tag, and is there no more and gives its place to another once it has ended", async (t) => {
  const world = await servedWorld(t, await testDatabase(t, graphModules));
  const call = callAs(world);
  const grant = "/edges/GRANTS_ACCESS/group:contractors/resource:acme.pages.people";
  assert.equal((await call("PUT", grant, { expires_at: "2100-01-01T00:00:00Z" })).status, 201);
  const read = await call("GET", grant);
  assert.deepEqual([read.status, read.headers.get("etag"), read.body.expires_at], [200, '"1"', "2100-01-01T00:00:00.000Z"]);
  const ended = await call("PUT", grant, { expires_at: "2001-01-01T00:00:00Z" }, { "if-match": '"1"' });
  assert.deepEqual([ended.status, ended.headers.get("etag")], [200, '"2"']);
  const around = await call("GET", "/identity_nodes/group:contractors/relationships?type=GRANTS_ACCESS");
  assert.equal(around.body.total, 0, "an ended edge counts as absent");
  for (const [method, body, headers] of [
    ["GET", undefined, {}],
    ["PUT", {}, { "if-match": '"2"' }],
    ["PUT", {}, { "if-match": "*" }],
    ["DELETE", undefined, {}],
    ["DELETE", undefined, { "if-match": '"2"' }],
  ] as const)
    assert.deepEqual([method, headers, (await call(method, grant, body, headers)).status], [method, headers, 404]);
  const opsOf = async (reply: Reply): Promise<unknown> => {
    const log = await call("GET", `/graph/changes?since=${reply.headers.get("x-graph-version")}`);
    return log.body.items[0].ops.map(({ op }: { op: string }) => op);
  };
  const again = await call("PUT", grant, { expires_at: "2001-01-01T00:00:00Z" });
  assert.deepEqual([again.status, again.headers.get("x-graph-version")], [200, ended.headers.get("x-graph-version")], "no version");
  const back = await call("PUT", grant, { expires_at: "2100-01-01T00:00:00Z" }, fresh);
  assert.deepEqual([back.status, back.headers.get("etag"), await opsOf(back)], [201, '"1"', ["drop_edge", "put_edge"]]);
  assert.equal((await call("PUT", grant, {}, fresh)).status, 412);
  assert.equal((await call("DELETE", grant, undefined, { "if-match": '"2"' })).status, 412);
  assert.equal((await call("DELETE", grant)).status, 204);
  assert.equal((await call("DELETE", grant)).status, 404);

  // One owner of an account; one primary controller.
  const second = await call("PUT", "/edges/BELONGS_TO/person:dan/account:ben@acme", {});
  assert.deepEqual([second.status, second.body.code], [409, "already_exists"]);
  assert.equal((await call("PUT", "/edges/BELONGS_TO/person:ben/account:ben@acme", { expires_at: "2001-01-01T00:00:00Z" })).status, 200);
  const taken = await call("PUT", "/edges/BELONGS_TO/person:dan/account:ben@acme", {});
  assert.equal(taken.status, 201);
  assert.deepEqual(await opsOf(taken), ["drop_edge", "put_edge"]);
  const primary = { props: { level: "primary" } };
  assert.equal((await call("PUT", "/edges/CONTROLLED_BY/agent:reporter/person:ben", primary)).body.code, "already_exists");
  assert.equal((await call("PUT", "/edges/CONTROLLED_BY/agent:reporter/person:ben", { props: { level: "deputy" } })).status, 201);
  assert.equal((await call("PUT", "/edges/CONTROLLED_BY/agent:reporter/person:ben", primary)).body.code, "already_exists");
  const controllers = ["person:ben", "person:cleo"].map((id) => `/edges/CONTROLLED_BY/agent:reporter/${id}`);
  assert.equal((await call("DELETE", controllers[0] ?? "")).status, 204);
  assert.equal((await call("DELETE", controllers[1] ?? "")).body.code, "last_controller");
});

test("what does not fit is refused with its place, and writes nothing", async (t) => {
  const world = await servedWorld(t, await testDatabase(t, graphModules));
  const call = callAs(world);
  await putAll(call);
  const before = (await world.reader.version()).version;
  const bad: readonly (readonly [name: string, id: string, body: object, status: number, code: string, path?: string])[] = [
    ["an id with a space", "a%20b", { kind: "Group", name: "x" }, 422, "unprocessable", "/id"],
    ["an id with a quote", "a'b", { kind: "Group", name: "x" }, 422, "unprocessable", "/id"],
    ["a kind that there is not", "x:1", { kind: "Robot", name: "x" }, 422, "unprocessable", "/kind"],
    ["a member that there is not", "x:1", { kind: "Group", name: "x", colour: 1 }, 422, "unknown_member", "/colour"],
    ["no name", "x:1", { kind: "Group" }, 422, "invalid_body", "/name"],
    ["a control character", "x:1", { kind: "Group", name: "a\u0007" }, 422, "invalid_body", "/name"],
    ["a state of another kind", "x:1", { kind: "Group", name: "x", state: "approved" }, 422, "unprocessable", "/state"],
    ["a prop that there is not", "x:1", { kind: "Group", name: "x", props: { a: 1 } }, 422, "unprocessable", "/props/a"],
    ["NUL in a prop", "x:1", { kind: "Tool", name: "x", props: { annotations: { a: "\u0000" } } }, 422, "unprocessable", "/props"],
    [
      "a prop named __proto__",
      "group:x",
      { kind: "Group", name: "x", props: { ["__proto__"]: { a: 1 } } },
      422,
      "unknown_member",
      "/props/__proto__",
    ],
    [
      "a prop named constructor",
      "group:x",
      { kind: "Group", name: "x", props: { constructor: 1 } },
      422,
      "unprocessable",
      "/props/constructor",
    ],
    ["a prop named prototype", "group:x", { kind: "Group", name: "x", props: { prototype: {} } }, 422, "unprocessable", "/props/prototype"],
    [
      "an attribute named __proto__",
      "person:x",
      { kind: "Person", name: "x", props: { attributes: { ["__proto__"]: { a: 1 } } } },
      422,
      "unprocessable",
      "/props/attributes/__proto__",
    ],
    ["another tenant's node", "tenant:zzz", { kind: "Tenant", name: "x" }, 422, "unprocessable", "/id"],
    ["a taken id", "person:eve", { kind: "Person", name: "x" }, 409, "already_exists", "/id"],
    ["a shared node's id", "people.demo", { kind: "Group", name: "x" }, 409, "already_exists", "/id"],
    [
      "a taken service name",
      "mcp:2",
      { kind: "MCPService", name: "memory.demo", props: nodes["MCPService"]?.props },
      409,
      "already_exists",
    ],
    ["a taken audience", "saas:2", { kind: "SaaSApp", name: "x", props: nodes["SaaSApp"]?.props }, 409, "already_exists"],
    [
      "another's client",
      "agent:x",
      { kind: "AIAgent", name: "x", props: { client_id: "sallyport-web" } },
      403,
      "access_denied",
      "/props/client_id",
    ],
    [
      "a client in place of an id",
      "web",
      { kind: "AIAgent", name: "x", props: { client_id: "web" } },
      403,
      "access_denied",
      "/props/client_id",
    ],
  ];
  for (const [name, id, body, status, code, path] of bad) {
    const reply = await call("PUT", `/nodes/${id}`, body, fresh);
    assert.deepEqual([name, reply.status, reply.body.code], [name, status, code]);
    if (path !== undefined) assert.ok(reply.body.errors[0].path.startsWith(path), `${name}: ${JSON.stringify(reply.body.errors)}`);
  }
  const kept = await call("PUT", "/nodes/group:new", { kind: "BusinessRole", name: "x" }, { "if-match": '"1"' });
  assert.deepEqual([kept.status, kept.body.code], [409, "conflict"]);
  for (const id of ["people.demo", "service:crud", "system.health"])
    for (const [method, body] of [
      ["PATCH", { name: "Ours" }],
      ["DELETE", undefined],
    ] as const) {
      const reply = await call(method, `/nodes/${id}`, body, { "if-match": '"1"' });
      assert.deepEqual([id, method, reply.status, reply.body.code], [id, method, 403, "access_denied"]);
    }
  const badEdges: readonly (readonly [path: string, body: object, status: number, code: string])[] = [
    ["KNOWS/person:ben/person:ada", {}, 422, "unprocessable"],
    ["MEMBER_OF/person:ben/tenant:acme", {}, 422, "edge_not_allowed"],
    ["MEMBER_OF/group:new/group:new", {}, 422, "unprocessable"],
    ["MEMBER_OF/group:new/group:never", {}, 422, "unprocessable"],
    ["MEMBER_OF/group:new/group:globex-staff", {}, 422, "unprocessable"],
    ["MEMBER_OF/account:eve@globex/group:new", {}, 422, "unprocessable"],
    ["MEMBER_OF/service:crud/group:platform-admins", {}, 403, "access_denied"],
    ["CONTROLLED_BY/service:crud/person:ada", { props: { level: "primary" } }, 403, "access_denied"],
    ["HAS_CAPABILITY/service:crud/new.tool", { props: { granted_by: "person:ada" } }, 403, "access_denied"],
    ["PROVIDES/mcp:new/system.health", {}, 422, "cross_tenant"],
    ["REQUIRES/people.demo.get_employee/saas:people", {}, 403, "access_denied"],
    ["REQUIRES/new.tool/saas:new", { props: { scopes: ["c"] } }, 422, "unprocessable"],
    ["MEMBER_OF/group:new/tenant:acme?discr=x", {}, 422, "unprocessable"],
    ["HAS_RTR_AT/group:new/resource:new", {}, 422, "unprocessable"],
    ["HAS_RTR_AT/group:new/resource:acme.secret.people.demo?discr=rtr:new", {}, 422, "unprocessable"],
    ["HAS_RTR_AT/group:new/resource:new?discr=group:new", {}, 422, "unprocessable"],
    ["GRANTS_ACCESS/group:new/resource:new", { expires_at: "soon" }, 422, "invalid_body"],
    ["GRANTS_ACCESS/group:new/resource:new", { props: { colour: 1 } }, 422, "unprocessable"],
    ["GRANTS_ACCESS/group:new/resource:new", { props: { ["__proto__"]: [] } }, 422, "unknown_member"],
    ["GRANTS_ACCESS/group:new/resource:new?__proto__=x", {}, 422, "unknown_parameter"],
  ];
  for (const [path, body, status, code] of badEdges) {
    const reply = await call("PUT", `/edges/${path}`, body);
    assert.deepEqual([path, reply.status, reply.body.code], [path, status, code]);
  }
  assert.equal((await world.reader.version()).version, before);
});

test("many writes are one version or none, in their order, and are not done twice", async (t) => {
  const world = await servedWorld(t, await testDatabase(t, graphModules));
  const call = callAs(world);
  const before = Number((await world.reader.version()).version);
  const changes = [
    { op: "put_node", node: { id: "group:a", kind: "Group", name: "A" } },
    { op: "put_node", node: { id: "group:b", kind: "Group", name: "B" } },
    { op: "put_edge", edge: { kind: "MEMBER_OF", src: "group:a", dst: "group:b" } },
    { op: "put_node", node: { id: "group:c", kind: "Group", name: "C" } },
    { op: "drop_node", id: "group:c" },
  ];
  const tried = await call("POST", "/graph/changes", { changes, reason: "just to see", dry_run: true }, key());
  assert.deepEqual(tried.body, { graph_version: before, written: 5, dry_run: true });
  assert.equal(Number((await world.reader.version()).version), before);
  const same = key();
  const done = await Promise.all([1, 2].map(() => call("POST", "/graph/changes", { changes, reason: "three groups" }, same)));
  assert.ok(done.some(({ status }) => status === 200));
  assert.deepEqual((await call("POST", "/graph/changes", { changes, reason: "three groups" }, same)).body, {
    graph_version: before + 1,
    written: 5,
    dry_run: false,
  });
  assert.equal((await call("POST", "/graph/changes", { changes, reason: "another" }, same)).body.code, "idempotency_conflict");
  assert.equal((await call("POST", "/graph/changes", { changes, reason: "no key" })).body.code, "idempotency_key_required");
  for (const [last, status, code, path] of [
    [{ op: "put_edge", edge: { kind: "MEMBER_OF", src: "group:b", dst: "group:a" } }, 409, "cycle", "/changes/1/edge"],
    [{ op: "put_node", node: { id: "x:1", kind: "Group", name: "x", props: { a: 1 } } }, 422, "unprocessable", "/changes/1/node/props/a"],
    [{ op: "drop_edge", edge: { kind: "MEMBER_OF", src: "group:c", dst: "group:a" } }, 404, "not_found", "/changes/1/edge"],
    [{ op: "drop_node", id: "person:eve" }, 404, "not_found", "/changes/1"],
  ] as const) {
    const reply = await call(
      "POST",
      "/graph/changes",
      { changes: [{ op: "put_node", node: { id: "group:d", kind: "Group", name: "D" } }, last], reason: "one is bad" },
      key(),
    );
    assert.deepEqual([reply.status, reply.body.code, reply.body.errors[0].path], [status, code, path]);
  }
  assert.equal(Number((await world.reader.version()).version), before + 1);
  assert.equal((await call("GET", "/identity_nodes/group:d")).status, 404);
});
