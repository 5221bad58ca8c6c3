import { statement } from "#store/database.ts";
import type { GraphEdge, GraphNode, SqlAnswer } from "./graph-reader.ts";
import { searchTimeout } from "./search-limits.ts";
import { effectiveStatus, HEAD, unexpired } from "./sql-parts.ts";
import { visible } from "./tenant-scope.ts";

const counts = (here: "src" | "dst", there: "src" | "dst"): string =>
  `coalesce((select json_object_agg(c.kind, c.n) from (
     select e.kind, count(*)::int as n from membership.edge e join membership.node o on o.id = e.${there} and ${visible("o")}
     where e.${here} = n.id and ${unexpired("e")} group by e.kind order by e.kind) c), '{}')`;

/** Columns of a node as readers tell it; its counts want `$1` to be the scope. */
export const NODE = `n.id, n.kind, n.name, n.display_name, n.system, n.state, n.tenant_id, n.external_id, n.props, n.digest, n.rev, n.created_at, n.updated_at,
   ${counts("src", "dst")} as "out", ${counts("dst", "src")} as "in"`;

/** A row of an answer about nodes, also where there is none of them: then one without a node. */
export type Found = { readonly version: bigint } & { readonly [K in keyof GraphNode]: GraphNode[K] | null };
const isFound = <Row extends Found>(row: Row): row is Row & GraphNode => row.id !== null;
/** The nodes alone, without what is said beside them. */
export const nodesOf = <Row extends Found & { readonly total?: number; readonly late?: boolean }>(rows: readonly Row[]) =>
  rows.filter(isFound).map(({ version: _version, total: _total, late: _late, ...node }) => node);

const GET = statement<Found>(
  "membership.node_get",
  `select ${HEAD} as version, found.* from (select 1) one
   left join lateral (select ${NODE} from membership.node n where n.id = $2 and ${visible("n")}) found on true`,
);

export const readNode: SqlAnswer<"node"> = async (sql, scope, id) => {
  const rows = await sql.run(GET, [scope.tenant, id]);
  return { version: rows[0]?.version ?? 0n, value: nodesOf(rows)[0] };
};

const SYSTEMS = statement<{ version: bigint; systems: string[] }>(
  "membership.node_systems",
  `select ${HEAD} as version, coalesce((select array_agg(distinct n.system collate "C" order by n.system collate "C")
     from membership.node n where n.system is not null and ${visible("n")}), '{}') as systems`,
  searchTimeout,
);
export const listSystems: SqlAnswer<"systems"> = async (sql, scope) => {
  const [row] = await sql.run(SYSTEMS, [scope.tenant]);
  return { version: row?.version ?? 0n, value: row?.systems ?? [] };
};

/** Both ends of an edge must be visible; $2 is the node, $3 a kind or null, $4 `in`, `out` or `both`. */
const around = (direction: "in" | "out"): string => {
  const [here, there] = direction === "out" ? ["src", "dst"] : ["dst", "src"];
  return `select e.id, e.kind, '${direction}' as direction, o.id as other, o.name, o.kind as node_type, o.state,
     e.props || jsonb_strip_nulls(jsonb_build_object('expires_at', e.expires_at, 'discr', nullif(e.discr, ''), 'digest', e.digest,
       'status', (select ${effectiveStatus("d")} from membership.delegation d where d.id = e.id))) as properties
   from membership.node n join membership.edge e on e.${here} = n.id join membership.node o on o.id = e.${there} and ${visible("o")}
   where n.id = $2 and ${visible("n")} and ${unexpired("e")} and ($3::text is null or e.kind = $3) and $4::text in ('both', '${direction}')`;
};

const EDGES = statement<{
  version: bigint;
  known: boolean;
  total: number;
  id: string | null;
  kind: string;
  direction: "in" | "out";
  other: string;
  name: string;
  node_type: string;
  state: string;
  properties: Record<string, unknown>;
}>(
  "membership.node_edges",
  `with around as (${around("out")} union all ${around("in")})
   select ${HEAD} as version, exists (select 1 from membership.node n where n.id = $2 and ${visible("n")}) as known,
     (select count(*)::int from around) as total, page.*
   from (select 1) one left join lateral (
     select * from around where $7::text is null or id > $7 order by id limit $5 offset $6) page on true order by page.id`,
);

export const readEdges: SqlAnswer<"edges"> = async (sql, scope, ask) => {
  const rows = await sql.run(EDGES, [scope.tenant, ask.id, ask.type ?? null, ask.direction, ask.limit, ask.skip, ask.after ?? null]);
  const version = rows[0]?.version ?? 0n;
  if (rows[0]?.known !== true) return { version, value: undefined };
  const items = rows.flatMap((row): GraphEdge[] =>
    row.id === null
      ? []
      : [
          {
            edge_id: row.id,
            type: row.kind,
            direction: row.direction,
            node: { id: row.other, name: row.name, node_type: row.node_type, state: row.state },
            properties: row.properties,
          },
        ],
  );
  return { version, value: { items, total: rows[0].total } };
};
