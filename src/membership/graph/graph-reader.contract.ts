import assert from "node:assert/strict";
import fc from "fast-check";
import type { GraphWorld } from "#testing/membership.ts";
import { foldText } from "#contract/fold-text.ts";
import { scopeOfTenant, wholeGraph } from "./tenant-scope.ts";

/**
 * What every reader of the graph must do, whatever it reads from: equal a naive reading of the same rows. Random small
 * worlds, each in tenants of its own, with ended, suspended and foreign things in them.
 */

const states = ["active", "active", "active", "active", "active", "suspended"] as const;
interface Node {
  readonly id: string;
  readonly kind: string;
  readonly tenant: string | null;
  readonly state: string;
  readonly digest: string | null;
}
interface Edge {
  readonly kind: string;
  readonly src: string;
  readonly dst: string;
  readonly digest: string | null;
  readonly ended: boolean;
}
interface Delegation {
  readonly id: string;
  readonly user: string;
  readonly agent: string;
  readonly status: string;
  readonly ended: boolean;
  readonly tools: readonly string[] | null;
}
interface World {
  readonly nodes: readonly Node[];
  readonly edges: readonly Edge[];
  readonly delegations: readonly Delegation[];
}

/** A world to read, and what its reader needs to see rows that were written behind the change log's back. */
export type ReadWorld = GraphWorld & { readonly settle?: () => Promise<void> };

/** `n` names the world, so that many lie in one database without touching. */
const worlds = (n: number): fc.Arbitrary<World> => {
  const tenant = `tenant:w${n}`;
  const id = (kind: string, index: number): string => `${kind}:w${n}.${index}`;
  const range = (kind: string, count: number): string[] => Array.from({ length: count }, (_none, index) => id(kind, index));
  const persons = range("person", 3);
  const accounts = range("account", 3);
  const groups = range("group", 4);
  const agents = range("agent", 2);
  const tools = range("tool", 4);
  const tenants = [tenant, `${tenant}b`];
  const some = <T>(items: readonly T[]): fc.Arbitrary<T> => fc.constantFrom(...items);
  const edge = (kind: string, from: readonly string[], to: readonly string[]): fc.Arbitrary<Edge> =>
    fc.record({
      kind: fc.constant(kind),
      src: some(from),
      dst: some(to),
      digest: kind === "HAS_CAPABILITY" ? fc.constantFrom(null, "d1", "d2") : fc.constant(null),
      ended: fc.constantFrom(false, false, false, true),
    });
  const nested = fc
    .tuple(fc.nat(3), fc.nat(3), fc.constantFrom(false, false, true))
    .filter(([one, other]) => one < other)
    .map(([one, other, ended]): Edge => ({ kind: "MEMBER_OF", src: groups[one] ?? "", dst: groups[other] ?? "", digest: null, ended }));
  const node = (kind: string, ids: readonly string[], tenantOf: (id: string) => string | null): fc.Arbitrary<Node>[] =>
    ids.map((one) =>
      fc.record({
        id: fc.constant(one),
        kind: fc.constant(kind),
        tenant: fc.constant(tenantOf(one)),
        state: some(kind === "Tool" ? ["approved", "approved", "quarantined"] : states),
        digest: kind === "Tool" ? fc.constantFrom(null, "d1") : fc.constant(null),
      }),
    );
  // The last agent and the last tool belong to the other tenant.
  const home = (one: string): string => (one === agents[1] || one === tools[3] ? `${tenant}b` : tenant);
  return fc.record({
    nodes: fc.tuple(
      ...node("Person", persons, () => tenant),
      ...node("Account", accounts, () => tenant),
      ...node("Group", groups, () => tenant),
      ...node("AIAgent", agents, home),
      ...node("Tool", tools, (one) => (one === tools[0] ? null : home(one))),
      ...node("Tenant", tenants, (one) => one),
    ),
    edges: fc.array(
      fc.oneof(
        edge("BELONGS_TO", persons, accounts),
        edge("MEMBER_OF", accounts, groups),
        edge("MEMBER_OF", accounts, tenants),
        edge("MEMBER_OF", groups, tenants),
        nested,
        edge("HAS_CAPABILITY", agents, tools),
        edge("HAS_CAPABILITY", agents, tools),
        edge("GRANTS_ACCESS", [...groups, ...persons], tools),
      ),
      { minLength: 45, maxLength: 70 },
    ),
    delegations: fc.array(
      fc.record({
        id: fc.uuid().map((uuid) => `delegation:${uuid}`),
        user: some(persons),
        agent: some(agents),
        status: fc.constantFrom("active", "active", "active", "active", "paused", "revoked"),
        ended: fc.constantFrom(false, false, false, false, true),
        tools: fc.option(fc.uniqueArray(some(tools), { minLength: 1 }), { nil: null, freq: 2 }),
      }),
      { minLength: 6, maxLength: 10 },
    ),
  });
};

const put = async (graph: GraphWorld, world: World): Promise<readonly Edge[]> => {
  // An account has one owner.
  const placeOf = ({ kind, src, dst }: Edge): string => JSON.stringify([kind, kind === "BELONGS_TO" ? "" : src, dst]);
  const edges = [...new Map(world.edges.map((edge) => [placeOf(edge), edge])).values()];
  const tenantOf = new Map(world.nodes.map((node) => [node.id, node.tenant]));
  const ends = (ended: boolean): string => (ended ? "now() - interval '1 hour'" : "null");
  const quote = (value: string | null): string => (value === null ? "null" : `'${value}'`);
  for (const node of world.nodes)
    await graph.sql(
      `insert into membership.node (id, kind, tenant_id, name, state, digest, fold) values ('${node.id}', '${node.kind}', ${quote(node.tenant)}, '${node.id}', '${node.state}', ${quote(node.digest)}, '${node.id}')`,
    );
  for (const edge of edges)
    await graph.sql(
      `insert into membership.edge (id, kind, src, dst, tenant_id, digest, expires_at) values ('edge:${crypto.randomUUID()}', '${edge.kind}', '${edge.src}', '${edge.dst}', ${quote(tenantOf.get(edge.src) ?? null)}, ${quote(edge.digest)}, ${ends(edge.ended)})`,
    );
  for (const one of world.delegations) {
    const tenant = tenantOf.get(one.user) ?? "";
    await graph.sql(
      `with e as (insert into membership.edge (id, kind, src, dst, discr, tenant_id) values ('${one.id}', 'DELEGATES_TO', '${one.user}', '${one.agent}', '${one.id}', '${tenant}')),
        d as (insert into membership.delegation (id, delegator_id, agent_id, tenant_id, path, status, hold, capabilities, purpose, valid_from, expires_at, created_by, ended_at)
          values ('${one.id}', '${one.user}', '${one.agent}', '${tenant}', array['${one.id}'], '${one.status}', ${one.status === "paused" ? "'manual'" : "null"},
          ${one.tools === null ? "null" : `array[${one.tools.map((tool) => `'${tool}'`).join(", ")}]::text[]`}, 'p', now(), ${ends(one.ended)}, 'x', ${one.status === "revoked" ? "now()" : "null"}))
       insert into membership.meter (delegation_id, limit_micro, limit_steps) values ('${one.id}', 1000, 10)`,
    );
  }
  return edges;
};

/** The naive reading: as the words of the rule say it, one row after the other. */
const naive = (world: World, edges: readonly Edge[], tenant: string) => {
  const sees = (node: Node | undefined): node is Node =>
    node !== undefined && (tenant === "*" || node.tenant === null || node.tenant === tenant);
  const node = (id: string): Node | undefined => world.nodes.find((one) => one.id === id);
  const active = (id: string): Node | undefined => ((found) => (sees(found) && found.state === "active" ? found : undefined))(node(id));
  const out = (id: string, kind: string): readonly string[] =>
    edges.filter((edge) => edge.src === id && edge.kind === kind && !edge.ended).map((edge) => edge.dst);
  const accountsOf = (id: string): readonly string[] =>
    active(id) === undefined ? [] : out(id, "BELONGS_TO").filter((one) => active(one));
  const groupsOf = (id: string): ReadonlySet<string> => {
    const found = new Set<string>();
    let at = [...accountsOf(id)];
    while (at.length > 0) {
      at = at.flatMap((one) => out(one, "MEMBER_OF")).filter((one) => active(one)?.kind === "Group" && !found.has(one));
      for (const one of at) found.add(one);
    }
    return found;
  };
  return {
    groupsOf,
    sees: (id: string): boolean => sees(node(id)),
    tenantsOf: (id: string): readonly string[] => {
      const first = accountsOf(id)
        .flatMap((one) => out(one, "MEMBER_OF"))
        .filter((one) => active(one));
      const second = first.flatMap((one) => out(one, "MEMBER_OF")).filter((one) => active(one));
      return [...new Set([...first, ...second].filter((one) => node(one)?.kind === "Tenant"))].sort();
    },
    capabilitiesOf: (user: string, agent?: string): readonly string[] => {
      const live = world.delegations.filter(
        (one) =>
          one.user === user &&
          (agent === undefined || one.agent === agent) &&
          one.status === "active" &&
          !one.ended &&
          active(one.user) &&
          active(one.agent),
      );
      const tools = live.flatMap((one) =>
        edges
          .filter(
            (edge) =>
              edge.kind === "HAS_CAPABILITY" &&
              edge.src === one.agent &&
              !edge.ended &&
              (one.tools === null || one.tools.includes(edge.dst)),
          )
          .filter((edge) => {
            const tool = node(edge.dst);
            return sees(tool) && tool.state === "approved" && (edge.digest === null || edge.digest === tool.digest);
          })
          .map((edge) => edge.dst),
      );
      return [...new Set(tools)].sort();
    },
    grantsTo: (user: string, tool: string): boolean =>
      active(user) !== undefined &&
      edges.some(
        (edge) =>
          edge.kind === "GRANTS_ACCESS" &&
          edge.dst === tool &&
          !edge.ended &&
          (edge.src === user || groupsOf(user).has(edge.src)) &&
          active(edge.src),
      ),
  };
};

/** Every reader equals the naive reading, and the facts of a decision equal the single questions. */
export const readsLikeTheRows = async (graph: ReadWorld, runs: number): Promise<void> => {
  const { reader } = graph;
  const seen = { capabilities: 0, tenants: 0, granted: 0 };
  for (let run = 0; run < runs; run++) {
    const [world] = fc.sample(worlds(run), { numRuns: 1, seed: 7_000 + run });
    assert.ok(world);
    const edges = await put(graph, world);
    await graph.settle?.();
    const tenant = `tenant:w${run}`;
    const idsOf = (kind: string): string[] => world.nodes.filter((node) => node.kind === kind).map((node) => node.id);
    const [persons, agents, tools] = [idsOf("Person"), idsOf("AIAgent"), idsOf("Tool")];
    for (const [scope, name] of [
      [wholeGraph, "*"],
      [scopeOfTenant(tenant), tenant],
      [scopeOfTenant(`${tenant}b`), `${tenant}b`],
    ] as const) {
      const rows = naive(world, edges, name);
      const about = `world ${run} as ${name}`;
      for (const userId of persons) {
        assert.deepEqual(
          (await reader.capabilities(scope, { userId })).value,
          rows.capabilitiesOf(userId),
          `${about}: capabilities of ${userId}`,
        );
        const dataScope = (await reader.dataScope(scope, { subjectId: userId, resourceType: "x" })).value;
        assert.deepEqual(dataScope.tenant_ids, rows.tenantsOf(userId), `${about}: tenants of ${userId}`);
        seen.tenants += dataScope.tenant_ids.length;
        seen.capabilities += rows.capabilitiesOf(userId).length;
        for (const agentId of agents)
          assert.deepEqual(
            (await reader.capabilities(scope, { userId, agentId })).value,
            rows.capabilitiesOf(userId, agentId),
            `${about}: ${userId} by ${agentId}`,
          );
      }
      const asks = persons.flatMap((subject) =>
        tools.flatMap((tool) =>
          [undefined, ...agents].map((agent) => ({
            subject_id: subject,
            ...(agent === undefined ? {} : { agent_ids: [agent] }),
            action: "tools/call",
            resource: { type: "tool", external_id: tool },
          })),
        ),
      );
      const { value: facts } = await reader.facts(scope, asks);
      for (const [index, ask] of asks.entries()) {
        const one = facts[index];
        const detail = `${about}: ${JSON.stringify(ask)}`;
        const agent = ask.agent_ids?.[0];
        if (!rows.sees(ask.subject_id)) {
          assert.deepEqual([one?.subject, one?.resource, one?.capability, one?.edges], [null, null, false, []], detail);
          continue;
        }
        assert.deepEqual(one?.subject?.tenant_ids, rows.tenantsOf(ask.subject_id), detail);
        assert.deepEqual(one?.subject?.groups, [...rows.groupsOf(ask.subject_id)].sort(), detail);
        const resource: Node | undefined = world.nodes.find((node) => node.id === ask.resource.external_id);
        const near = (owner: string | null | undefined): boolean =>
          owner === null || owner === tenant || (owner !== undefined && rows.tenantsOf(ask.subject_id).includes(owner));
        const isResource: boolean = rows.sees(ask.resource.external_id) && near(resource?.tenant);
        assert.equal(one?.resource !== null, isResource, `${detail} is in reach`);
        if (one?.resource?.granted === true) seen.granted++;
        if (isResource) assert.equal(one?.resource?.granted, rows.grantsTo(ask.subject_id, ask.resource.external_id), `${detail} granted`);
        if (
          agent !== undefined &&
          one !== undefined &&
          isResource &&
          near(world.nodes.find((node) => node.id === agent)?.tenant) &&
          rows.sees(agent)
        )
          assert.equal(
            one.capability && one.definition_ok,
            rows.capabilitiesOf(ask.subject_id, agent).includes(ask.resource.external_id),
            `${detail} as the capability question`,
          );
        if (agent === undefined) assert.equal(one?.capability, false, detail);
      }
    }
  }
  // Worlds in which nothing is ever reached would prove nothing.
  for (const [what, count] of Object.entries(seen)) assert.ok(count > runs, `${what} were found ${count} times`);
};

/** The search finds exactly what reading every node finds, in byte order. */
export const searchesLikeReadingAll = async (graph: GraphWorld): Promise<void> => {
  const { reader } = graph;
  const names = [
    "İstanbul",
    "istanbul",
    "STRASSE",
    "Straße",
    "100%",
    "a_b",
    "a\\b",
    "ﬁle",
    "FILE",
    "Ünï",
    "u\u0308nı",
    "emoji 😀",
    'Ben\'s "x"',
    "ΣΑΣ",
    "σας",
  ];
  for (const [index, name] of names.entries())
    await graph.put({
      id: `group:s${index}`,
      kind: "Group",
      name,
      tenant_id: "tenant:acme",
      system: index % 2 === 0 ? "even" : "odd",
      props: {},
    });
  const { value: all } = await reader.search(
    wholeGraph,
    { kinds: ["Group", "Person", "Account"] },
    { limit: 500, skip: 0, withTotal: true },
  );
  assert.deepEqual(
    all.nodes.map(({ id }) => id),
    all.nodes.map(({ id }) => id).toSorted(),
    "in byte order",
  );
  assert.equal(all.nodes.length, all.total);
  const fields = (node: (typeof all.nodes)[number]): string[] =>
    [node.id, node.name, node.display_name, node.external_id, node.props["email"], node.props["login"]].filter(
      (field) => typeof field === "string",
    );
  const terms = [
    "%",
    "_",
    "\\",
    "a_",
    "100%",
    "strasse",
    "straße",
    "STRASSE",
    "fi",
    "ﬁ",
    "İ",
    "i̇",
    "istanbul",
    "ü",
    "Ü",
    "😀",
    "'",
    '"',
    "ben",
    "BEN@",
    "σας",
    "ΣΑΣ",
    "group:s1",
    "nothing",
    "acme.example",
    "e b",
  ];
  for (const search of terms) {
    const expected = all.nodes
      .filter((node) => fields(node).some((field) => foldText(field).includes(foldText(search))))
      .map(({ id }) => id);
    const filter = { kinds: ["Group", "Person", "Account"], search };
    const { value } = await reader.search(wholeGraph, filter, { limit: 500, skip: 0, withTotal: true });
    assert.deepEqual([search, value.nodes.map(({ id }) => id)], [search, expected]);
    assert.equal(value.total, expected.length);
    assert.equal((await reader.count(wholeGraph, filter)).value, expected.length);
    const paged: string[] = [];
    for (let skip = 0; skip < expected.length + 2; skip += 2)
      paged.push(...(await reader.search(wholeGraph, filter, { limit: 2, skip, withTotal: false })).value.nodes.map(({ id }) => id));
    assert.deepEqual(paged, expected, `${search} by pages of two`);
  }
  assert.deepEqual((await reader.count(wholeGraph, { kinds: ["Group"], system: "odd" })).value, 7);
};

/** The path is a shortest one, the smallest in its steps, and equal to a plain breadth-first search's. */
export const findsShortestPaths = async (graph: ReadWorld, runs: number): Promise<void> => {
  const locations = (run: number): string[] => Array.from({ length: 9 }, (_none, index) => `location:p${run}.${index}`);
  for (let run = 0; run < runs; run++) {
    const ids = locations(run);
    const [pairs = []] = fc.sample(
      fc.uniqueArray(
        fc.tuple(fc.nat(8), fc.nat(8)).filter(([a, b]) => a < b),
        { maxLength: 14, selector: String },
      ),
      {
        numRuns: 1,
        seed: 900 + run,
      },
    );
    for (const id of ids)
      await graph.sql(
        `insert into membership.node (id, kind, tenant_id, name, state, fold) values ('${id}', 'Location', 'tenant:acme', 'l', 'active', 'l')`,
      );
    for (const [a, b] of pairs)
      await graph.sql(
        `insert into membership.edge (id, kind, src, dst) values ('edge:p${run}.${a}.${b}', 'LOCATED_IN', '${ids[a]}', '${ids[b]}')`,
      );
    await graph.settle?.();
    const next = (directed: boolean, id: number): number[] =>
      pairs.flatMap(([a, b]) => (a === id ? [b] : b === id && !directed ? [a] : [])).sort((one, other) => one - other);
    for (const directed of [true, false])
      for (const [from, to] of [
        [0, 8],
        [8, 0],
        [3, 3],
        [1, 7],
      ] as const) {
        let level: number[][] = [[from]];
        const seen = new Set<number>([from]);
        let found: number[] | undefined = from === to ? [from] : undefined;
        while (found === undefined && level.length > 0 && (level[0]?.length ?? 0) <= 8) {
          const reached: number[][] = [];
          for (const path of level)
            for (const step of next(directed, path.at(-1) ?? 0))
              if (!seen.has(step)) {
                seen.add(step);
                reached.push([...path, step]);
              }
          found = reached.find((path) => path.at(-1) === to);
          level = reached;
        }
        const { value } = await graph.reader.path(wholeGraph, {
          from: ids[from] ?? "",
          to: ids[to] ?? "",
          maxHops: 8,
          types: [],
          directed,
        });
        assert.deepEqual(
          value?.nodes.map(({ id }) => id) ?? [],
          found?.map((index) => ids[index]) ?? [],
          `run ${run} ${from}-${to} directed ${directed}`,
        );
        assert.equal(value?.found, found !== undefined);
        assert.equal(value?.edges.length, Math.max((found?.length ?? 1) - 1, 0));
      }
  }
};

/** Nothing of another tenant is seen by any method, and what is foreign is answered like what is not there. */
export const tellsNothingForeign = async (graph: GraphWorld): Promise<void> => {
  const { reader } = graph;
  const globex = scopeOfTenant("tenant:globex");
  const acme = scopeOfTenant("tenant:acme");
  const { value: all } = await reader.search(
    acme,
    { kinds: ["Person", "Account", "Group", "AIAgent", "Tenant", "Resource", "MCPService", "Tool"] },
    { limit: 500, skip: 0, withTotal: true },
  );
  const foreign = all.nodes.filter((node) => node.tenant_id === "tenant:acme").map(({ id }) => id);
  assert.ok(foreign.length > 20);
  for (const id of foreign) {
    const answers = async (one: string): Promise<string> =>
      JSON.stringify(
        await Promise.all([
          reader.node(globex, one),
          reader.edges(globex, { id: one, direction: "both", limit: 500, skip: 0 }),
          reader.capabilities(globex, { userId: one }),
          reader.delegations(globex, { userId: one, limit: 50, offset: 0 }),
          reader.dataScope(globex, { subjectId: one, resourceType: "employee" }),
          reader.assurance(globex, one),
          reader.chain(globex, { userId: one, agentId: "agent:hr-assistant", toolId: "people.demo.get_employee" }),
          reader.path(globex, { from: "person:eve", to: one, maxHops: 8, types: [], directed: false }),
          reader.facts(globex, [
            { subject_id: "person:eve", agent_ids: [one], action: "view", resource: { type: "identities", external_id: one } },
            { subject_id: one, action: "view", resource: { type: "pages", external_id: "people" } },
            { subject_id: "person:eve", action: "create", resource: { type: "delegations", external_id: one } },
            { subject_id: "person:eve", action: "view", resource: { type: "delegations", external_id: one } },
            { subject_id: "person:eve", action: "tools/call", resource: { type: "tool", external_id: one } },
          ]),
        ]),
        (_key, value: unknown) => (typeof value === "bigint" ? Number(value) : value === one ? "THE ID" : value),
      );
    assert.equal(await answers(id), await answers("nobody:at-all"), id);
  }
  const seen = await reader.search(
    globex,
    { kinds: ["Person", "Account", "Group", "AIAgent", "Tenant", "Resource"] },
    { limit: 500, skip: 0, withTotal: true },
  );
  assert.deepEqual(
    seen.value.nodes.map(({ id }) => id),
    ["account:eve@globex", "group:globex-staff", "person:eve", "tenant:globex"],
  );
  assert.deepEqual((await reader.systems(globex)).value, ["directory", "people.demo", "sallyport", "sallyport.local"]);
  const counts = (await reader.kindCounts(globex)).value;
  assert.deepEqual([counts["Person"], counts["AIAgent"], counts["Tool"]], [1, undefined, 6]);
  const shared = (await reader.node(globex, "people.demo.list_employees")).value;
  assert.deepEqual(
    [shared?.in, shared?.out],
    [{ GRANTS_ACCESS: 1, PROVIDES: 1 }, { REQUIRES: 1 }],
    "edges are counted where both ends are seen",
  );
};
