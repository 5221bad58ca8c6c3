import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";
import { Problem } from "#contract/problem.ts";
import { seedDemo } from "#demo/world.ts";
import { statement } from "#store/database.ts";
import { forEachDatabase, testDatabase } from "#testing/database.ts";
import { graphModules, graphWorld, type GraphWorld } from "#testing/membership.ts";
import { builtInWorld } from "#membership/seed/built-in-nodes.ts";
import { edgeKindNames, nodeKindNames } from "#membership/model/kinds.ts";
import { edgeIdOf, type EdgeDraft } from "./put-edge.ts";
import type { NodeDraft } from "./put-node.ts";
import { seedWorld } from "#membership/seed/seed.ts";
import { wholeGraph } from "./tenant-scope.ts";

const versionOf = async (world: GraphWorld): Promise<number> => Number((await world.reader.version()).version);
const group = (id: string, name = id, tenant = "tenant:acme"): NodeDraft => ({ id, kind: "Group", name, tenant_id: tenant, props: {} });
const refused = async (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => "done",
    (error: unknown) => (error instanceof Problem ? error.code : String(error)),
  );

test("one write is one version with whole rows before and after; writing the same again is none", async (t) => {
  const world = await graphWorld(await testDatabase(t, graphModules));
  const before = await versionOf(world);
  await world.put(group("group:new", "New"), { kind: "MEMBER_OF", src: "group:new", dst: "tenant:acme" });
  assert.equal(await versionOf(world), before + 1);
  await world.put(group("group:new", "New"), { kind: "MEMBER_OF", src: "group:new", dst: "tenant:acme" });
  assert.equal(await versionOf(world), before + 1);
  await world.put({ ...group("group:new", "Renamed"), state: "suspended" });
  const ops = await world.sql<{
    version: bigint;
    seq: number;
    op: string;
    subject: string;
    before: Record<string, unknown> | null;
    after: Record<string, unknown>;
  }>(`select version, seq, op, subject, before, after from membership.graph_change_op where version > ${before} order by version, seq`);
  assert.deepEqual(
    ops.map(({ version, seq, op, subject, before: was, after }) => [
      Number(version) - before,
      seq,
      op,
      subject.startsWith("edge:") ? "edge" : subject,
      was?.["name"],
      after["name"],
      after["rev"],
    ]),
    [
      [1, 0, "put_node", "group:new", undefined, "New", 1],
      [1, 1, "put_edge", "edge", undefined, undefined, 1],
      [2, 0, "put_node", "group:new", "New", "Renamed", 2],
    ],
  );
  assert.deepEqual([ops[2]?.before?.["state"], ops[2]?.after["state"], ops[2]?.after["tenant_id"]], ["active", "suspended", "tenant:acme"]);
});

test("a write that fails leaves nothing, and no version", async (t) => {
  const world = await graphWorld(await testDatabase(t, graphModules));
  const before = await versionOf(world);
  const published = (await world.published()).length;
  await assert.rejects(world.put(group("group:a"), { kind: "MEMBER_OF", src: "group:a", dst: "group:nowhere" }));
  assert.equal(await versionOf(world), before);
  assert.equal((await world.reader.node(wholeGraph, "group:a")).value, undefined);
  assert.equal((await world.published()).length, published);
});

forEachDatabase("versions are gapless and in commit order under concurrent writes", graphModules, async (_t, database) => {
  const world = await graphWorld(database);
  const before = await versionOf(world);
  await Promise.all(Array.from({ length: 30 }, (_none, index) => world.put(group(`group:c${index}`))));
  const versions = await world.sql<{ version: bigint; ops: number }>(
    `select c.version, count(o.*)::int as ops from membership.graph_change c join membership.graph_change_op o using (version) where c.version > ${before} group by 1 order by 1`,
  );
  assert.deepEqual(
    versions.map((row) => [Number(row.version), row.ops]),
    Array.from({ length: 30 }, (_none, index) => [before + 1 + index, 1]),
  );
});

forEachDatabase("an edge that has ended closes no ring and keeps nobody's place, until it is back", graphModules, async (_t, database) => {
  const world = await graphWorld(database);
  const [past, future] = [new Date("2001-01-01"), new Date("2100-01-01")];
  await world.put(group("group:ea"), group("group:eb"), group("group:ec"));
  const member = (src: string, dst: string, expires_at?: Date): EdgeDraft => ({ kind: "MEMBER_OF", src, dst, expires_at });
  const controller = (dst: string, level: string, expires_at?: Date): EdgeDraft => ({
    kind: "CONTROLLED_BY",
    src: "agent:reporter",
    dst,
    props: { level },
    expires_at,
  });
  const [{ dst: held } = { dst: "" }] = await world.sql<{ dst: string }>(
    "select dst from membership.edge where kind = 'CONTROLLED_BY' and src = 'agent:reporter' and props ->> 'level' = 'primary'",
  );
  const steps: readonly (readonly [EdgeDraft, string])[] = [
    [member("group:ea", "group:eb", past), "done"],
    [member("group:eb", "group:ea"), "done"],
    [member("group:ea", "group:eb", future), "cycle"],
    [member("group:ea", "group:eb", new Date("2002-01-01")), "done"],
    [member("group:ea", "group:ec"), "done"],
    [member("group:ec", "group:ea", past), "done"],
    [member("group:ec", "group:ea"), "cycle"],
    [controller("person:dan", "deputy"), "done"],
    [controller("person:dan", "primary"), "already_exists"],
    [controller(held, "primary", past), "done"],
    [controller("person:dan", "primary"), "done"],
    [controller(held, "primary"), "already_exists"],
    [controller(held, "deputy"), "done"],
  ];
  for (const [at, [draft, outcome]] of steps.entries()) assert.deepEqual([at, await refused(world.put(draft))], [at, outcome]);
});

forEachDatabase("two edges that would close a ring together are not both written", graphModules, async (_t, database) => {
  const world = await graphWorld(database);
  await world.put(group("group:x"), group("group:y"), group("group:z"));
  const ring: EdgeDraft[] = [
    ["x", "y"],
    ["y", "z"],
    ["z", "x"],
  ].map(([src, dst]) => ({ kind: "MEMBER_OF", src: `group:${src}`, dst: `group:${dst}` }));
  const results = await Promise.all(ring.map((edge) => refused(world.put(edge))));
  assert.deepEqual(results.toSorted(), ["cycle", "done", "done"]);
});

test("what a kind does not allow is refused, with every issue", async (t) => {
  const world = await graphWorld(await testDatabase(t, graphModules));
  const before = await versionOf(world);
  const nodes: readonly (readonly [NodeDraft, string])[] = [
    [{ ...group("bad id") }, "/id"],
    [{ ...group("group:'x") }, "/id"],
    [{ ...group("group:a"), name: "" }, "/name"],
    [{ ...group("group:a"), name: "a\u0001b" }, "/name"],
    [{ ...group("group:a"), name: "x".repeat(257) }, "/name"],
    [{ ...group("group:a"), state: "approved" }, "/state"],
    [{ ...group("group:a"), tenant_id: null }, "/tenant_id"],
    [{ ...group("group:a"), props: { colour: "red" } }, "/props/colour"],
    [{ id: "person:a", kind: "Person", name: "A", tenant_id: "tenant:acme", props: { mfa_level: "some" } }, "/props/mfa_level"],
    [{ id: "account:a", kind: "Account", name: "A", tenant_id: "tenant:acme", props: { login: "a" } }, "/props/system"],
    [{ id: "saas:a", kind: "SaaSApp", name: "A", tenant_id: null, props: { audience: "nowhere", scopes: [] } }, "/props/audience"],
    [{ id: "tool.a", kind: "Tool", name: "A", tenant_id: null, props: { input_schema: { x: "y".repeat(170_000) } } }, "/props"],
  ];
  for (const [draft, path] of nodes) {
    const error = await world.put(draft).then(
      () => undefined,
      (caught: unknown) => caught,
    );
    assert.ok(error instanceof Problem);
    assert.deepEqual([error.code, error.options.errors?.map((issue) => issue.path)], ["unprocessable", [path]]);
  }
  const edges: readonly (readonly [EdgeDraft, string])[] = [
    [{ kind: "MEMBER_OF", src: "person:ben", dst: "tenant:acme" }, "edge_not_allowed"],
    [{ kind: "GRANTS_ACCESS", src: "people.demo", dst: "group:analysts" }, "edge_not_allowed"],
    [
      { kind: "HAS_CAPABILITY", src: "person:ben", dst: "people.demo.list_employees", props: { granted_by: "person:ben" } },
      "edge_not_allowed",
    ],
    [{ kind: "HAS_CAPABILITY", src: "agent:reporter", dst: "people.demo.get_employee" }, "unprocessable"],
    [{ kind: "MEMBER_OF", src: "account:eve@globex", dst: "group:analysts" }, "cross_tenant"],
    [{ kind: "MEMBER_OF", src: "group:analysts", dst: "group:analysts" }, "unprocessable"],
    [{ kind: "MEMBER_OF", src: "group:analysts", dst: "group:nowhere" }, "unprocessable"],
  ];
  for (const [draft, code] of edges) assert.deepEqual([draft, await refused(world.put(draft))], [draft, code]);
  const legal = await world.put({ kind: "MEMBER_OF", src: "person:ben", dst: "tenant:acme" }).catch((error: unknown) => error);
  assert.match((legal as Problem).options.errors?.[0]?.message ?? "", /Account -> Group, BusinessRole, Tenant/);
  assert.equal(await versionOf(world), before);
});

test("groups nest at most eight deep", async (t) => {
  const world = await graphWorld(await testDatabase(t, graphModules));
  await world.put(...Array.from({ length: 10 }, (_none, index) => group(`group:n${index}`)));
  for (let index = 0; index < 8; index++) await world.put({ kind: "MEMBER_OF", src: `group:n${index}`, dst: `group:n${index + 1}` });
  assert.equal(await refused(world.put({ kind: "MEMBER_OF", src: "group:n8", dst: "group:n9" })), "unprocessable");
  assert.equal(await refused(world.put({ kind: "MEMBER_OF", src: "group:n9", dst: "group:n0" })), "unprocessable");
});

test("the database itself refuses ids that could change a sentence, and money that is not there", async (t) => {
  const world = await graphWorld(await testDatabase(t, graphModules));
  for (const id of ["a'b", "a b", "a/b", "-a", "a\\b"])
    await assert.rejects(
      world.sql(
        `insert into membership.node (id, kind, name, state, fold) values ('${id.replaceAll("'", "''")}', 'Group', 'x', 'active', 'x')`,
      ),
      /node_id_check/,
    );
  for (const change of [
    "used_micro = limit_micro + 1",
    "held_steps = limit_steps + 1",
    "held_micro = -1",
    "used_steps = limit_steps, lent_steps = 1",
  ])
    await assert.rejects(world.sql(`update membership.meter set ${change}`), /check constraint/);
});

forEachDatabase(
  "the database itself knows the kinds, and keeps single what is single, whoever writes",
  graphModules,
  async (_t, database) => {
    const world = await graphWorld(database);
    const quoted = (value: unknown): string =>
      value === undefined || value === null ? "null" : `'${typeof value === "string" ? value : JSON.stringify(value)}'`;
    const insert = async (table: string, row: Readonly<Record<string, unknown>>): Promise<string> => {
      const sql = `insert into membership.${table} (${Object.keys(row).join()}) values (${Object.values(row).map(quoted).join()})`;
      const error: unknown = await world.sql(sql).then(
        () => undefined,
        (thrown: unknown) => thrown,
      );
      const said = [error, (error as { cause?: unknown } | undefined)?.cause].map(String).join(" ");
      return error === undefined ? "done" : (/constraint "([a-z_]+)"/.exec(said)?.[1] ?? said);
    };
    let made = 0;
    const node = (kind: string, more: Readonly<Record<string, unknown>> = {}) =>
      insert("node", { id: `raw:${++made}`, kind, name: `raw ${made}`, state: "active", fold: "raw", tenant_id: "tenant:acme", ...more });
    const edge = (kind: string, src: string, dst: string, more: Readonly<Record<string, unknown>> = {}) =>
      insert("edge", { id: `edge:raw-${++made}`, kind, src, dst, tenant_id: "tenant:acme", ...more });

    for (const id of ["raw:a", "raw:b", "raw:c", "raw:d"]) assert.equal(await node("Group", { id }), "done");
    for (const kind of nodeKindNames) assert.equal(await node(kind), "done", kind);
    for (const kind of edgeKindNames) assert.equal(await edge(kind, "raw:a", "raw:b"), "done", kind);
    for (const kind of ["person", "Persons", "Edge", ""]) assert.equal(await node(kind), "node_kind_known", kind);
    for (const kind of ["member_of", "MEMBER", "Person", ""]) assert.equal(await edge(kind, "raw:a", "raw:c"), "edge_kind_known", kind);

    const person = { system: "hr", external_id: "e-1" };
    const page = { external_id: "r-1", props: { type: "pages" } };
    const app = { props: { audience: "https://app.example" } };
    const primary = { props: { level: "primary" } };
    const globex = { tenant_id: "tenant:globex" };
    // The first of each is written, and whatever stands after it is refused by that rule, or is another thing.
    type Raw = Readonly<Record<string, unknown>>;
    const nodes: readonly (readonly [kind: string, first: Raw, other: Raw, said: string])[] = [
      ["Group", { id: "raw:twice" }, { id: "raw:twice" }, "node_pkey"],
      ["Group", { id: "raw:kinds" }, { id: "raw:kinds", kind: "Person" }, "node_pkey"],
      ["Person", person, person, "node_external"],
      ["Person", person, { ...person, kind: "Account" }, "node_external"],
      ["Person", person, { ...person, system: "scim" }, "done"],
      ["Person", person, { ...person, ...globex }, "done"],
      ["Person", person, { ...person, external_id: "E-1" }, "done"],
      ["Resource", page, page, "node_resource"],
      ["Resource", page, { ...page, system: "another" }, "node_resource"],
      ["Resource", page, { ...page, props: { type: "forms" } }, "done"],
      ["Resource", page, { ...page, ...globex }, "done"],
      ["Resource", { ...page, tenant_id: null }, { ...page, tenant_id: null }, "node_resource"],
      ["MCPService", { name: "one" }, { name: "one" }, "node_service_name"],
      ["MCPService", { name: "one" }, { name: "one", ...globex }, "done"],
      ["MCPService", { name: "one", tenant_id: null }, { name: "one", tenant_id: null }, "node_service_name"],
      ["SaaSApp", app, app, "node_saas_audience"],
      ["SaaSApp", app, { ...app, ...globex }, "done"],
      ["SaaSApp", { ...app, tenant_id: null }, { ...app, tenant_id: null }, "node_saas_audience"],
    ];
    for (const [kind, first, other, said] of nodes) {
      const place = `${kind} ${JSON.stringify(other)}`;
      assert.equal(await node(kind, first), "done", place);
      assert.equal(await node(kind, other), said, place);
      await world.sql(
        "delete from membership.node where fold = 'raw' and id not in (select src from membership.edge union select dst from membership.edge)",
      );
      for (const id of ["raw:c", "raw:d"]) assert.equal(await node("Group", { id }), "done");
    }
    await world.sql("delete from membership.edge where id like 'edge:raw-%'");
    const call = { call_id: "raw", tenant_id: "tenant:acme", delegation_id: "delegation:ben-hr", tool_id: "raw", ends_at: "2100-01-01" };
    const reserve = (more: object) =>
      insert("reservation", { id: randomUUID(), ...call, steps: 1, micro: 1, left_steps: 1, left_micro: 1, state: "held", ...more });
    for (const [more, said] of [
      [{}, "done"],
      [{}, "reservation_call"],
      [globex, "done"],
      [{ call_id: "other", steps: 0 }, "reservation_steps_check"],
      [{ call_id: "other", state: "paid", closed_at: "2026-01-01" }, "reservation_state_check"],
      [{ call_id: "other", delegation_id: "delegation:nobody" }, "reservation_delegation_id_fkey"],
    ] as const)
      assert.equal(await reserve(more), said, JSON.stringify(more));
    type Ends = readonly [src: string, dst: string, more?: Readonly<Record<string, unknown>>];
    const edges: readonly (readonly [kind: string, first: Ends, other: Ends, said: string])[] = [
      ["MEMBER_OF", ["raw:a", "raw:b"], ["raw:a", "raw:b"], "edge_kind_src_dst_discr_key"],
      ["MEMBER_OF", ["raw:a", "raw:b"], ["raw:a", "raw:b", { discr: "other" }], "done"],
      ["MEMBER_OF", ["raw:a", "raw:b"], ["raw:b", "raw:b"], "edge_check"],
      ["MEMBER_OF", ["raw:a", "raw:b"], ["raw:nobody", "raw:b"], "edge_src_fkey"],
      ["MEMBER_OF", ["raw:a", "raw:b"], ["raw:a", "raw:nobody"], "edge_dst_fkey"],
      ["MEMBER_OF", ["raw:a", "raw:b"], ["raw:c", "raw:b"], "done"],
      ...["BELONGS_TO", "PROVIDES", "PROVIDES_RESOURCE", "OFFERS_PROMPT"].map(
        (kind) => [kind, ["raw:a", "raw:b"], ["raw:c", "raw:b"], "edge_one_holder"] as const,
      ),
      ["BELONGS_TO", ["raw:a", "raw:b"], ["raw:a", "raw:c"], "done"],
      ["CONTROLLED_BY", ["raw:a", "raw:b", primary], ["raw:a", "raw:c", primary], "edge_one_controller"],
      ["CONTROLLED_BY", ["raw:a", "raw:b", primary], ["raw:a", "raw:c", { props: { level: "deputy" } }], "done"],
      ["CONTROLLED_BY", ["raw:a", "raw:b", primary], ["raw:a", "raw:c", { ...primary, ...globex }], "done"],
      ["OWNS_RESOURCE", ["raw:a", "raw:b", primary], ["raw:c", "raw:b", primary], "edge_one_owner"],
      ["OWNS_RESOURCE", ["raw:a", "raw:b", primary], ["raw:c", "raw:b", { props: { level: "deputy" } }], "done"],
    ];
    for (const [kind, first, other, said] of edges) {
      assert.equal(await edge(kind, ...first), "done", kind);
      assert.equal(await edge(kind, ...other), said, `${kind} ${JSON.stringify(other)}`);
      await world.sql("delete from membership.edge where id like 'edge:raw-%'");
    }
  },
);

forEachDatabase(
  "seeding again changes nothing: meters, revocations and what was taken away stay",
  graphModules,
  async (_t, database, { second }) => {
    const world = await graphWorld(database);
    await world.sql("update membership.meter set used_steps = 7 where delegation_id = 'delegation:ben-hr'");
    await world.sql("update membership.delegation set status = 'revoked', ended_at = now() where id = 'delegation:ben-hr'");
    await world.sql("update membership.node set state = 'suspended' where id = 'agent:reporter'");
    await world.sql("delete from membership.edge where kind = 'HAS_CAPABILITY' and dst = 'people.demo.update_salary'");
    await world.sql("delete from membership.data_scope_rule where tenant_id = 'tenant:globex'");
    const rows = (): Promise<readonly unknown[]> =>
      world.sql(
        "select (select count(*) from membership.node) as n, (select count(*) from membership.edge) as e, (select version from membership.graph_head) as v, (select count(*) from membership.graph_change_op) as o",
      );
    const before = await rows();
    const seed = async (): Promise<void> => {
      await seedWorld(world.write, builtInWorld, { actor: "service:membership", source: "sync", correlationId: "again" });
      await seedDemo({ change: world.change, metrics: world.metrics, now: () => new Date() });
    };
    await Promise.all([seed(), seed()]);
    assert.deepEqual(await rows(), before);
    assert.deepEqual(await world.sql("select used_steps from membership.meter where delegation_id = 'delegation:ben-hr'"), [
      { used_steps: 7n },
    ]);
    assert.deepEqual(await world.sql("select status from membership.delegation where id = 'delegation:ben-hr'"), [{ status: "revoked" }]);
    assert.equal((await world.reader.node(wholeGraph, "agent:reporter")).value?.state, "suspended");
    if (second !== undefined) {
      const fresh = await second();
      assert.equal((await graphWorld(fresh)).database, fresh, "another process seeds into the same data");
      assert.deepEqual(await rows(), before);
    }
  },
);

forEachDatabase(
  "a later version of the seed brings an older folder what it adds or says otherwise, and leaves alone what somebody changed or took away",
  graphModules,
  async (_t, database) => {
    const world = await graphWorld(database, { demo: false });
    const by = { actor: "service:membership", source: "demo", correlationId: "seed" } as const;
    const acme: NodeDraft = { id: "tenant:acme", kind: "Tenant", name: "Acme", tenant_id: "tenant:acme", props: {} };
    const inAcme = (id: string): EdgeDraft => ({ kind: "MEMBER_OF", src: id, dst: "tenant:acme" });
    const tool = (id: string, props: Record<string, unknown>): NodeDraft => ({ id, kind: "Tool", name: id, tenant_id: null, props });
    const seed = (nodes: readonly NodeDraft[], edges: readonly EdgeDraft[]) =>
      seedWorld(world.write, { tenantId: "tenant:acme", nodes: [acme, ...nodes], edges }, by);
    const tools = ["untouched", "changed", "undone", "gone"];
    await seed([...tools.map((id) => tool(id, {})), group("group:old")], [inAcme("group:old")]);
    await world.put(
      tool("changed", { title: "Ours" }),
      { ...tool("undone", {}), state: "quarantined" },
      { ...tool("undone", {}), state: "approved" },
    );
    await world.write({ actor: "person:ada", source: "api", correlationId: "test", tenantId: "tenant:acme" }, async (tx) => {
      await tx.sql.run(statement("testing.drop_edge", "delete from membership.edge where src = 'group:old'"));
      await tx.sql.run(statement("testing.drop_node", "delete from membership.node where id = 'gone'"));
      const edgeId = edgeIdOf("MEMBER_OF", "group:old", "tenant:acme", "");
      tx.record({ op: "drop_edge", subject: edgeId, kind: "MEMBER_OF", src: "group:old", dst: "tenant:acme" });
      tx.record({ op: "drop_node", subject: "gone", kind: "Tool" });
      return { value: undefined };
    });

    const props = { resource_type: "employee" };
    const later = (): Promise<void> =>
      seed([...tools, "added"].map((id) => tool(id, props)).concat(group("group:old"), group("group:new")), [
        inAcme("group:old"),
        inAcme("group:new"),
      ]);
    await Promise.all([later(), later()]);
    const held = await world.sql<{ id: string; props: unknown; rev: bigint }>(
      "select id, props, rev from membership.node where kind = 'Tool' and system is null order by id",
    );
    assert.deepEqual(
      held.map((node) => [node.id, node.props, node.rev]),
      [
        ["added", props, 1n],
        ["changed", { title: "Ours" }, 2n],
        ["undone", {}, 3n],
        ["untouched", props, 2n],
      ],
    );
    assert.deepEqual(await world.sql("select src from membership.edge where kind = 'MEMBER_OF' order by src"), [{ src: "group:new" }]);
    const version = await versionOf(world);
    await later();
    assert.equal(await versionOf(world), version, "the same seed again is no version");
  },
);

test("without the demo there is Sallyport, and nothing else", async (t) => {
  const world = await graphWorld(await testDatabase(t, graphModules), { demo: false });
  assert.deepEqual(
    (await world.sql<{ id: string; tenant_id: string | null }>("select id, tenant_id from membership.node order by id")).map((row) => [
      row.id,
      row.tenant_id,
    ]),
    [
      ...["administrator", "auditor", "member", "operator", "platform", "security"].map((name) => `role:${name}`),
      ...["crud", "gateway", "membership", "operator", "pdp", "secrets"].map((name) => `service:${name}`),
      "sallyport.local",
      "sallyport.local.search_identities",
      "sallyport.local.shortest_path",
      "system.health",
    ]
      .toSorted()
      .map((id) => [id, null]),
  );
});
