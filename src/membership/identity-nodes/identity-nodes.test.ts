import assert from "node:assert/strict";
import { test } from "node:test";
import { testDatabase } from "#testing/database.ts";
import { graphModules, servedWorld, sharedWorld, type Reply } from "#testing/membership.ts";

const shared = sharedWorld();
const NODES = "/api/v1/identity_nodes";
const ids = (reply: Reply): string[] => (reply.body.nodes ?? reply.body).map((node: { id: string }) => node.id);

test("search finds by kind, system and a folded substring, in the order of ids", async () => {
  const world = await shared();
  const search = async (query: string): Promise<string[]> => ids(await world.call("ben", "GET", `${NODES}/search?${query}`));
  assert.deepEqual(await search("node_type=Person"), ["person:ada", "person:ben", "person:cleo", "person:dan"]);
  assert.deepEqual(await search("search=BEN"), ["account:ben@acme", "person:ben"]);
  assert.deepEqual(await search("search=%25"), []);
  assert.deepEqual(await search("search=ben%40acme.example"), ["person:ben"]);
  assert.deepEqual(await search("node_type=Group&search=a&limit=2&skip=1"), ["group:contractors", "group:people-ops"]);
  assert.deepEqual(await search("system=memory.demo&node_type=MCPService"), ["memory.demo"]);
  assert.deepEqual(await search("system=memory&node_type=MCPService"), [], "a system is matched whole");
  assert.deepEqual(await search("node_type=AIAgent"), ["agent:hr-assistant", "agent:reporter"]);
  assert.ok(
    (await search("limit=500")).every((id) => !id.startsWith("tenant:") && !id.startsWith("people.demo.")),
    "without node_type: identities, groups, roles, locations",
  );
  const identity = await search("node_type=Identity&limit=500");
  assert.ok(identity.includes("service:pdp") && identity.includes("memory.demo") && !identity.includes("group:analysts"));
  const plain = await world.call("ben", "GET", `${NODES}/search?node_type=Person&limit=1`);
  assert.ok(Array.isArray(plain.body));
  const [ada] = plain.body;
  assert.deepEqual(
    { ...ada, created_at: "", updated_at: "" },
    {
      id: "person:ada",
      name: "Ada Admin",
      node_type: "Person",
      labels: ["Person", "Identity"],
      system: "directory",
      state: "active",
      tenant_id: "tenant:acme",
      properties: { email: "ada@acme.example", given_name: "Ada", family_name: "Admin", mfa_level: "none" },
      created_at: "",
      updated_at: "",
      relationships: { out: { BELONGS_TO: 1, OWNS_RESOURCE: 1 }, in: {} },
    },
  );
});

test("with metadata: total, has_more and the page's sums; count, systems and types agree", async () => {
  const world = await shared();
  const page = await world.call("ben", "GET", `${NODES}/search/with-metadata?node_type=Person&limit=3`);
  assert.deepEqual([page.body.total, page.body.limit, page.body.skip, page.body.has_more], [4, 3, 0, true]);
  assert.deepEqual(page.body.relationships, { out: { BELONGS_TO: 3, DELEGATES_TO: 3, OWNS_RESOURCE: 1 }, in: { CONTROLLED_BY: 2 } });
  const last = await world.call("ben", "GET", `${NODES}/search/with-metadata?node_type=Person&limit=3&skip=3`);
  assert.deepEqual([ids(last), last.body.has_more], [["person:dan"], false]);
  const beyond = await world.call("ben", "GET", `${NODES}/search/with-metadata?node_type=Person&skip=9`);
  assert.deepEqual([ids(beyond), beyond.body.total, beyond.body.has_more], [[], 4, false]);
  assert.deepEqual((await world.call("ben", "GET", `${NODES}/count?node_type=Person&search=e`)).body, { count: 4 });
  assert.deepEqual((await world.call("ben", "GET", `${NODES}/systems`)).body, {
    systems: ["directory", "memory.demo", "people.demo", "sallyport", "sallyport.local"],
  });
  const stats = (await world.call("ben", "GET", `${NODES}/stats/types`)).body;
  assert.deepEqual([stats.types.Person, stats.types.AIAgent, stats.types.Tenant, stats.types.Identity], [4, 2, 1, 4 + 4 + 2 + 6 + 3]);
  assert.equal(
    stats.total,
    Object.entries(stats.types as Record<string, number>).reduce((sum, [label, n]) => (label === "Identity" ? sum : sum + n), 0),
  );
  const fulltext = await world.call("ben", "GET", `${NODES}/search/with-metadata?search=bakre%20ben&use_fulltext=true`);
  assert.deepEqual([fulltext.status, ids(fulltext)[0]], [200, "person:ben"]);
});

test("one node and its edges, with the status of delegations", async () => {
  const world = await shared();
  const node = await world.call("ada", "GET", `${NODES}/agent:hr-assistant`);
  assert.deepEqual(
    [node.body.node_type, node.body.relationships],
    ["AIAgent", { out: { CONTROLLED_BY: 1, HAS_CAPABILITY: 4 }, in: { DELEGATES_TO: 1 } }],
  );
  const all = await world.call("ada", "GET", `${NODES}/person:ben/relationships`);
  assert.equal(all.body.total, 4);
  const out = await world.call("ada", "GET", `${NODES}/person:ben/relationships?type=DELEGATES_TO&direction=out`);
  assert.deepEqual(
    out.body.relationships.map((one: { edge_id: string; node: { id: string }; properties: { status: string } }) => [
      one.edge_id,
      one.node.id,
      one.properties.status,
    ]),
    [
      ["delegation:ben-hr", "agent:hr-assistant", "active"],
      ["delegation:ben-old", "agent:reporter", "revoked"],
    ],
  );
  const paged = await world.call("ada", "GET", `${NODES}/person:ben/relationships?limit=3&skip=3`);
  assert.deepEqual([paged.body.relationships.length, paged.body.total, paged.body.has_more], [1, 4, false]);
  assert.deepEqual(
    (await world.call("ada", "GET", `${NODES}/person:ben/relationships?direction=in`)).body.relationships.map(
      (one: { type: string }) => one.type,
    ),
    ["CONTROLLED_BY"],
  );
});

test("bad questions are refused and never clamped", async () => {
  const world = await shared();
  const bad: readonly (readonly [path: string, status: number, code: string])[] = [
    ["search?limit=501", 422, "unprocessable"],
    ["search?limit=0", 422, "unprocessable"],
    ["search?limit=ten", 422, "unprocessable"],
    ["search?skip=-1", 422, "unprocessable"],
    ["search?search=", 422, "unprocessable"],
    [`search?search=${"x".repeat(201)}`, 422, "unprocessable"],
    ["search?search=%1F", 422, "unprocessable"],
    ["search?search=%00", 422, "unprocessable"],
    ["search?system=%00", 422, "unprocessable"],
    ["search?node_type=person", 422, "unprocessable"],
    ["count?node_type=Persons", 422, "unprocessable"],
    ["count?limit=1", 422, "unknown_parameter"],
    ["search?q=ben", 422, "unknown_parameter"],
    ["fulltext-search", 422, "unprocessable"],
    ["fulltext-search?q=%20", 422, "unprocessable"],
    ["fulltext-search?q=a%20b%20c%20d%20e%20f%20g%20h%20i", 422, "unprocessable"],
    ["fulltext-search?q=ben&node_type=Robot", 422, "unprocessable"],
    ["fulltext-search?q=ben&limit=501", 422, "unprocessable"],
    ["fulltext-search?search=ben", 422, "unknown_parameter"],
    ["search/with-metadata?use_fulltext=true", 422, "unprocessable"],
    ["search?limit=1&limit=2", 400, "ambiguous_query"],
    ["person:ben/relationships?type=KNOWS", 422, "unprocessable"],
    ["person:ben/relationships?direction=up", 422, "unprocessable"],
    ["person:nobody", 404, "not_found"],
    ["per%20son", 404, "not_found"],
    ["%00", 404, "not_found"],
    ["person:nobody/relationships", 404, "not_found"],
  ];
  for (const [path, status, code] of bad) {
    const reply = await world.call("ben", "GET", `${NODES}/${path}`);
    assert.deepEqual([path, reply.status, reply.body.code], [path, status, code]);
  }
  const unknown = await world.call("ben", "GET", `${NODES}/search?node_type=Robot`);
  assert.match(unknown.body.errors[0].message, /Identity, Person, Account, AIAgent/);
});

test("every search is decided; one's own node needs no decision, and an absent one gets none", async (t) => {
  const world = await servedWorld(t, await testDatabase(t, graphModules), {
    rule: ({ sub, type, action }) => (type === "identities" && action === "view_all" && sub === "person:ben") || "not_granted",
  });
  for (const path of ["search", "search/with-metadata", "count", "systems", "stats/types", "fulltext-search?q=ben"]) {
    assert.equal((await world.call("ben", "GET", `${NODES}/${path}`)).status, 200, path);
    const denied = await world.call("dan", "GET", `${NODES}/${path}`);
    assert.deepEqual([denied.status, denied.body.code, denied.body.reason], [403, "access_denied", "not_granted"], path);
    assert.equal(denied.headers.get("x-decision-id"), denied.body.decision_id);
    assert.equal((await world.call(undefined, "GET", `${NODES}/${path}`)).status, 401);
    assert.equal((await world.call("ben", "GET", `${NODES}/${path}`, { scopes: ["pip.read"] })).status, 403);
  }
  const before = world.asked.length;
  assert.equal((await world.call("dan", "GET", `${NODES}/person:dan`)).status, 200);
  assert.equal((await world.call("dan", "GET", `${NODES}/person:nobody`)).status, 404);
  assert.equal((await world.call("dan", "GET", `${NODES}/person:eve`)).status, 404);
  assert.equal(world.asked.length, before);
  assert.equal((await world.call("dan", "GET", `${NODES}/person:ben`)).status, 403);
  assert.deepEqual(world.asked.at(-1), { sub: "person:dan", agent: undefined, type: "identities", action: "view", id: "person:ben" });
  assert.equal((await world.call("dan+reporter", "GET", `${NODES}/person:dan`)).status, 403, "an agent's own node is the agent's");
});
