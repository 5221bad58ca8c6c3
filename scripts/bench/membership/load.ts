import { edgeIdOf } from "#membership/graph/put-edge.ts";
import { migrate } from "#store/migrate.ts";
import { createPostgres } from "#store/postgres.ts";
import { statement } from "#store/database.ts";
import { silentLog } from "#telemetry/log.ts";
import { migrationFolders } from "#testing/schema.ts";
import { generateGraph } from "../../graph/generate.ts";
import { say } from "../kit/progress.ts";

export interface LoadedGraph {
  readonly url: string;
  readonly nodes: number;
  readonly edges: number;
  readonly delegations: number;
  readonly persons: number;
  /** `pg_total_relation_size` of nodes, edges and delegations. */
  readonly bytes: number;
}

const NODES = statement(
  "bench.load_nodes",
  `insert into membership.node (id, kind, tenant_id, name, state, props, fold)
   select g.id, g.kind, g.tenant_id, g.name, case g.kind when 'Tool' then 'approved' else 'active' end, g.props, lower(g.id || chr(31) || g.name)
   from jsonb_to_recordset($1::jsonb) as g(id text, kind text, tenant_id text, name text, props jsonb)`,
);
const EDGES = statement(
  "bench.load_edges",
  `insert into membership.edge (id, kind, src, dst, tenant_id, props)
   select g.id, g.kind, g.src, g.dst, s.tenant_id, coalesce(g.props, '{}')
   from jsonb_to_recordset($1::jsonb) as g(id text, kind text, src text, dst text, props jsonb) join membership.node s on s.id = g.src
   order by g.id on conflict do nothing`,
);
/** A fifth of the persons, each to an agent of their own tenant: $1 persons, $2 tenants, $3 agents of each tenant. */
const DELEGATIONS = statement(
  "bench.load_delegations",
  `with g as (
     select 'delegation:b' || i as id, 'person:p' || i as person, 'agent:x' || (i % $2::int + $2::int * ((i / $2::int) % $3::int)) as agent, 'tenant:t' || (i % $2::int) as tenant
     from generate_series(0, $1::int - 1, 5) i),
   e as (insert into membership.edge (id, kind, src, dst, discr, tenant_id) select id, 'DELEGATES_TO', person, agent, id, tenant from g),
   d as (insert into membership.delegation (id, delegator_id, agent_id, tenant_id, path, status, purpose, valid_from, created_by)
     select id, person, agent, tenant, array[id], 'active', 'bench', now(), person from g)
   insert into membership.meter (delegation_id, limit_micro, limit_steps) select id, 1000000, 1000 from g`,
);
const SIZES = statement<{ nodes: number; edges: number; delegations: number; bytes: string }>(
  "bench.sizes",
  `select (select count(*)::int from membership.node) as nodes, (select count(*)::int from membership.edge) as edges,
     (select count(*)::int from membership.delegation) as delegations,
     (pg_total_relation_size('membership.node') + pg_total_relation_size('membership.edge') + pg_total_relation_size('membership.delegation'))::text as bytes`,
);

/** A database of its own with the generated graph in it, written as rows: the change log of its making is of no matter here. */
export const loadGraph = async (server: string, name: string, scale: number): Promise<LoadedGraph> => {
  say(`loading ${scale} of the graph ...`);
  {
    await using admin = await createPostgres({ url: server, poolSize: 1, log: silentLog });
    await admin.run(statement(`bench.create.${name}`, `create database ${name}`));
  }
  const address = new URL(server);
  address.pathname = `/${name}`;
  await using database = await createPostgres({ url: address.href, poolSize: 2, log: silentLog, statementTimeoutMs: 600_000 });
  await migrate(database, migrationFolders(["events", "membership"]));
  const nodes: unknown[] = [];
  const edges: unknown[] = [];
  const flush = async (max: number): Promise<void> => {
    if (nodes.length > max) await database.run(NODES, [JSON.stringify(nodes.splice(0))]);
    if (edges.length > max && nodes.length === 0) await database.run(EDGES, [JSON.stringify(edges.splice(0))]);
  };
  for (const part of generateGraph({ scale, seed: 42, hostile: false })) {
    for (const line of part) {
      const { node, edge } = JSON.parse(line) as { node?: object; edge?: { kind: string; src: string; dst: string } };
      if (node !== undefined) nodes.push(node);
      if (edge !== undefined) edges.push({ ...edge, id: edgeIdOf(edge.kind, edge.src, edge.dst, "") });
    }
    if (nodes.length > 5_000) await flush(0);
    if (edges.length > 5_000) await flush(0);
  }
  await flush(0);
  await flush(0);
  const persons = Math.round(100_000 * scale);
  const tenants = Math.max(1, Math.round(300 * scale));
  await database.run(DELEGATIONS, [persons, tenants, Math.floor(Math.max(1, Math.round(2_000 * scale)) / tenants)]);
  for (const table of ["node", "edge", "delegation"]) await database.script(`vacuum analyze membership.${table}`);
  const [size] = await database.run(SIZES);
  if (size === undefined) throw new Error("no sizes");
  say(`${size.nodes} nodes, ${size.edges} edges, ${size.delegations} delegations`);
  return { url: address.href, ...size, bytes: Number(size.bytes), persons };
};
