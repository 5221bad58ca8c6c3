import assert from "node:assert/strict";
import { test } from "node:test";
import { putNodes } from "#membership/graph/put-node.ts";
import { wholeGraph } from "#membership/graph/tenant-scope.ts";
import { forEachDatabase, testDatabase } from "#testing/database.ts";
import { until } from "#testing/until.ts";
import { graphModules, servedWorld } from "#testing/membership.ts";

test("the shortest path tells its nodes and edges, and refuses what it does not know", async (t) => {
  const world = await servedWorld(t, await testDatabase(t, graphModules), { rule: ({ sub }) => sub !== "person:cleo" });
  const path = async (query: string, as = "ben") => world.call(as, "GET", `/api/v1/shortest-path?${query}`);
  const found = await path("from=person:ben&to=saas:people&directed=true");
  assert.deepEqual(
    found.body.nodes.map((node: { id: string }) => node.id),
    ["person:ben", "agent:hr-assistant", "people.demo.get_employee", "saas:people"],
  );
  assert.deepEqual(
    found.body.edges.map((edge: { kind: string; from: string; to: string }) => `${edge.from} ${edge.kind} ${edge.to}`),
    [
      "person:ben DELEGATES_TO agent:hr-assistant",
      "agent:hr-assistant HAS_CAPABILITY people.demo.get_employee",
      "people.demo.get_employee REQUIRES saas:people",
    ],
  );
  assert.deepEqual([found.body.found, found.body.length, found.body.truncated], [true, 3, false]);
  assert.equal((await path("from=person:ben&to=agent:reporter&types=DELEGATES_TO")).body.found, false, "a revoked delegation is no way");
  assert.equal((await path("from=saas:people&to=person:ben&directed=true")).body.found, false);
  assert.equal((await path("from=saas:people&to=person:ben&max_hops=2")).body.found, false);
  const same = (await path("from=person:ben&to=person:ben")).body;
  assert.deepEqual([same.found, same.length, same.nodes.length], [true, 0, 1]);
  assert.equal((await path("from=person:ben&to=tenant:acme&types=BELONGS_TO,MEMBER_OF")).body.length, 3);
  for (const [query, status, code] of [
    ["from=person:ben&to=person:nobody", 404, "not_found"],
    ["from=person:ben&to=person:eve", 404, "not_found"],
    ["from=person:ben&to=person:ada&types=KNOWS", 422, "unprocessable"],
    ["from=person:ben&to=person:ada&max_hops=9", 422, "unprocessable"],
    ["from=person:ben", 422, "unprocessable"],
    ["from=person:ben&to=person:ada&depth=1", 422, "unknown_parameter"],
  ] as const) {
    const reply = await path(query);
    assert.deepEqual([query, reply.status, reply.body.code], [query, status, code]);
  }
  assert.equal((await path("from=person:ben&to=person:ada", "cleo")).status, 403);
});

test("the change log shows what a tenant may see of each version, by pages and filters", async (t) => {
  const world = await servedWorld(t, await testDatabase(t, graphModules), { rule: ({ sub }) => sub !== "person:cleo" });
  const log = async (as: string, query = "") => world.call(as, "GET", `/api/v1/graph/changes?limit=500${query}`);
  const acme = await log("ada");
  const subjects = (reply: { body: { items: { ops: { subject: string; after: { tenant_id: string | null } }[] }[] } }) =>
    reply.body.items.flatMap((item) => item.ops);
  assert.ok(subjects(acme).some(({ subject }) => subject === "person:ben"));
  assert.ok(subjects(acme).every(({ after }) => after.tenant_id === null || after.tenant_id === "tenant:acme"));
  const globex = await log("eve");
  assert.ok(subjects(globex).some(({ subject }) => subject === "person:eve"));
  assert.ok(subjects(globex).every(({ after }) => after.tenant_id === null || after.tenant_id === "tenant:globex"));
  assert.equal(JSON.stringify(globex.body).includes("acme"), false);

  const revoke = await world.call("ben", "POST", "/api/v1/delegations/delegation:ben-hr/revoke", { body: { reason: "log me" } });
  const version = revoke.body.graph_version as number;
  assert.deepEqual((await world.call("ben", "GET", "/api/v1/graph/version")).body.version, version);
  for (const query of [
    `&since=${version}`,
    "&actor=person:ben",
    "&source=api",
    `&node_id=delegation:ben-hr&since=${version}`,
    `&node_id=agent:hr-assistant&since=${version}`,
  ]) {
    const { items } = (await log("ada", query)).body;
    assert.deepEqual(
      [query, items.length, items[0]?.version, items[0]?.reason, items[0]?.ops[0].after.status],
      [query, 1, version, "log me", "revoked"],
    );
  }
  assert.deepEqual((await log("ada", `&until=${version - 1}&source=api`)).body.items, []);
  assert.deepEqual((await log("eve", `&since=${version}`)).body.items, []);

  const first = await world.call("ada", "GET", "/api/v1/graph/changes?limit=1");
  const second = await world.call(
    "ada",
    "GET",
    `/api/v1/graph/changes?limit=1&cursor=${encodeURIComponent(first.body.next_cursor as string)}`,
  );
  assert.ok(second.body.items[0].version > first.body.items[0].version);
  for (const [as, query] of [
    ["ben", "limit=1"],
    ["ada", "limit=1&source=demo"],
  ] as const)
    assert.equal(
      (await world.call(as, "GET", `/api/v1/graph/changes?${query}&cursor=${encodeURIComponent(first.body.next_cursor as string)}`)).body
        .code,
      "invalid_cursor",
    );
  assert.equal((await log("cleo")).status, 403);
});

forEachDatabase(
  "a version of many or long rows goes on from page to page, and a page is never larger",
  graphModules,
  async (t, database) => {
    const world = await servedWorld(t, database);
    const attributes = Object.fromEntries(Array.from({ length: 32 }, (_none, at) => [`a${at}`, "x".repeat(256)]));
    const person = (id: string, props = {}) => ({ id, kind: "Person", name: id, tenant_id: "tenant:acme", props }) as const;
    for (const drafts of [
      Array.from({ length: 1_100 }, (_none, at) => person(`person:many${at}`)),
      Array.from({ length: 200 }, (_none, at) => person(`person:long${at}`, { attributes })),
      [person("person:last")],
    ]) {
      const by = { actor: "person:ada", source: "import", correlationId: "test", tenantId: "tenant:acme" } as const;
      const { version } = await world.write(by, async (tx) => ({ value: await putNodes(tx, wholeGraph, drafts) }));
      const seen: string[] = [];
      let cursor: string | undefined;
      let pages = 0;
      do {
        const query = `since=${version}&limit=1${cursor === undefined ? "" : `&cursor=${encodeURIComponent(cursor)}`}`;
        const { body } = await world.call("ada", "GET", `/api/v1/graph/changes?${query}`);
        assert.deepEqual(
          body.items.map((item: { version: number }) => item.version),
          [Number(version)],
        );
        const ops = body.items[0].ops as { subject: string }[];
        assert.ok(ops.length > 0 && ops.length <= 1_000 && JSON.stringify(ops).length < 1_200_000, `${ops.length}`);
        seen.push(...ops.map(({ subject }) => subject));
        cursor = body.next_cursor;
        pages += 1;
      } while (cursor !== undefined);
      assert.deepEqual([seen, pages], [drafts.map(({ id }) => id), drafts.length === 1 ? 1 : 2]);
    }
  },
);

test("health needs no credential and says what the graph is at", async (t) => {
  const world = await servedWorld(t, await testDatabase(t, graphModules));
  const reply = await world.call(undefined, "GET", "/api/v1/health");
  assert.equal(reply.status, 200);
  assert.deepEqual(
    { ...reply.body, graph_version: 0 },
    {
      status: "healthy",
      graph_version: 0,
      reader: "sql",
      feed: "off",
      sweeper: { state: "starting", at: null },
      database: "pglite",
      version: "test",
    },
  );
  assert.deepEqual(await world.service.ready(), []);
  const off = await servedWorld(t, await testDatabase(t, graphModules), { now: () => new Date(Date.now() - 60_000) });
  const { body } = await off.call(undefined, "GET", "/api/v1/health");
  assert.deepEqual(
    [body.status, Math.round(body.clock_off_ms / 10_000)],
    ["degraded", -6],
    "this process's clock and the database's differ",
  );
});

test("health says whether changes are heard of, and when what the clock did was written down", async (t) => {
  const environment = { MEMBERSHIP_READER: "auto", DELEGATION_SWEEP_MS: "100" };
  const world = await servedWorld(t, await testDatabase(t, graphModules), { environment });
  const health = async () => (await world.call(undefined, "GET", "/api/v1/health")).body;
  const body = await until(health, ({ sweeper }) => sweeper.state !== "starting");
  assert.deepEqual([body.feed, body.sweeper.state, Number.isNaN(Date.parse(body.sweeper.at))], ["listening", "sweeping", false]);
  await world.sql("update membership.job_lease set holder = 'another', until = now() + interval '1 hour'");
  await until(health, ({ sweeper }) => sweeper.state === "elsewhere");
});

test("a database that is away is said so, and nothing is answered from memory", async (t) => {
  const database = await testDatabase(t, graphModules);
  const world = await servedWorld(t, database);
  await database[Symbol.asyncDispose]();
  for (const [as, method, path, body, code = "store_unavailable"] of [
    [undefined, "GET", "/api/v1/health", undefined],
    ["service:pdp", "GET", "/api/v1/pip/membership/capabilities?user_id=person:ben", undefined, "graph_unavailable"],
    [
      "service:pdp",
      "POST",
      "/api/v1/pip/membership/facts",
      { asks: [{ subject_id: "person:ben", action: "view", resource: { type: "pages", external_id: "people" } }] },
      "graph_unavailable",
    ],
    [
      "service:crud",
      "POST",
      "/api/v1/delegations/reservations",
      { call_id: "c", user_id: "person:ben", agent_id: "agent:hr-assistant", tool_id: "people.demo.list_employees", usd: 0 },
    ],
    ["ben", "GET", "/api/v1/delegations", undefined],
  ] as const) {
    const reply = await world.call(as, method, path, body === undefined ? {} : { body });
    assert.deepEqual([path, reply.status, reply.body.code, reply.headers.has("retry-after")], [path, 503, code, true]);
  }
  assert.deepEqual(await world.service.ready(), ["database"]);
});

forEachDatabase("connections go on behind the last one of a page, whatever has ended meanwhile", graphModules, async (t, database) => {
  const world = await servedWorld(t, database);
  const page = async (query: string) => {
    const { body } = await world.call("ada", "GET", `/api/v1/relationship-connections?start_id=agent:hr-assistant&direction=both${query}`);
    return { ids: body.items.map(({ edge_id }: { edge_id: string }) => edge_id) as string[], next: body.next_cursor as string | undefined };
  };
  const { ids: all, next } = await page("");
  assert.ok(all.length > 5 && next === undefined);
  const first = await page("&limit=3");
  assert.deepEqual(first.ids, all.slice(0, 3));
  await world.sql(`update membership.edge set expires_at = now() where id in ('${all[0]}', '${all[2]}')`);
  const rest = await page(`&limit=${all.length - 3}&cursor=${encodeURIComponent(first.next ?? "")}`);
  assert.deepEqual([rest.ids, rest.next], [all.slice(3), undefined]);
});

test("counts, orphans, connections and neighbours are the tenant's own, by pages and within bounds", async (t) => {
  const world = await servedWorld(t, await testDatabase(t, graphModules), { rule: ({ sub }) => sub !== "person:cleo" });
  const get = (path: string, as = "ada") => world.call(as, "GET", `/api/v1/${path}`);
  await world.put(
    { id: "group:alone", kind: "Group", name: "Alone", tenant_id: "tenant:acme", props: {} },
    { id: "location:alone", kind: "Location", name: "Alone", tenant_id: null, props: {} },
    { kind: "GRANTS_ACCESS", src: "group:contractors", dst: "resource:acme.pages.people", expires_at: new Date("2001-01-01") },
  );
  const labels = (await get("node-label-counts")).body;
  assert.deepEqual([labels.counts.Person, labels.counts.Tenant], [4, 1]);
  assert.equal((await get("node-label-counts", "eve")).body.counts.Person, 1);
  const types = (await get("relationship-type-counts")).body;
  assert.deepEqual([types.counts.BELONGS_TO, types.counts.CONTROLLED_BY], [4, 2]);
  assert.equal(
    types.total,
    Object.values(types.counts as Record<string, number>).reduce((sum, n) => sum + n, 0),
  );
  assert.deepEqual((await get("relationship-type-counts", "eve")).body.counts.CONTROLLED_BY, undefined);
  const orphans = (await get("orphan-node-counts?sample=1")).body;
  assert.deepEqual([orphans.counts.Group, orphans.sample.Group, orphans.counts.Location], [1, ["group:alone"], undefined]);
  assert.equal((await get("orphan-node-counts")).body.sample, undefined);
  assert.equal((await get("orphan-node-counts", "eve")).body.counts.Group, undefined);

  const seen: string[] = [];
  let path = "relationship-connections?start_id=agent:hr-assistant&type=HAS_CAPABILITY&limit=3";
  for (let cursor: string | undefined = ""; cursor !== undefined;) {
    const { body }: { body: { items: { node: { id: string } }[]; next_cursor?: string } } = await get(
      `${path}${cursor && `&cursor=${encodeURIComponent(cursor)}`}`,
    );
    seen.push(...body.items.map(({ node }) => node.id));
    cursor = body.next_cursor;
  }
  assert.equal(new Set(seen).size, 4);
  path = "related-nodes?id=person:ben";
  const near = (await get(path)).body;
  assert.deepEqual(
    near.nodes.map(({ id, distance }: { id: string; distance: number }) => [id, distance]),
    [
      ["person:ben", 0],
      ["account:ben@acme", 1],
      ["agent:hr-assistant", 1],
    ],
  );
  assert.deepEqual([near.truncated, near.edges.find(({ kind }: { kind: string }) => kind === "DELEGATES_TO").status], [false, "active"]);
  assert.deepEqual((await get(`${path}&hops=4&limit=2`)).body.truncated, true);
  assert.equal((await get(`${path}&hops=4&limit=2`)).body.nodes.length, 2);
  assert.deepEqual(
    (await get(`${path}&direction=out&types=BELONGS_TO,MEMBER_OF&hops=3`)).body.nodes.map(({ id }: { id: string }) => id),
    ["person:ben", "account:ben@acme", "group:people-ops", "role:member", "role:operator", "tenant:acme"],
  );
  assert.ok(!JSON.stringify((await get("related-nodes?id=people.demo&hops=4", "eve")).body).includes("acme"));
  for (const [query, status, code] of [
    ["related-nodes?id=person:eve", 404, "not_found"],
    ["related-nodes?id=person:ben&hops=5", 422, "unprocessable"],
    ["related-nodes?id=person:ben&types=KNOWS", 422, "unprocessable"],
    ["related-nodes?id=person:ben&limit=5001", 422, "unprocessable"],
    ["related-nodes", 422, "unprocessable"],
    ["relationship-connections?start_id=person:eve", 404, "not_found"],
    ["relationship-connections?start_id=person:ben&type=KNOWS", 422, "unprocessable"],
    ["relationship-connections?start_id=person:ben&cursor=made-up", 400, "invalid_cursor"],
    ["orphan-node-counts?sample=51", 422, "unprocessable"],
    ["node-label-counts?kind=Person", 422, "unknown_parameter"],
  ] as const) {
    const reply = await get(query);
    assert.deepEqual([query, reply.status, reply.body.code], [query, status, code]);
    assert.equal((await get(query, "cleo")).status === 200, false);
  }
});
