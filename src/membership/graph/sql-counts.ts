import { statement, type Sql } from "#store/database.ts";
import type { SqlAnswer } from "./graph-reader.ts";
import { HEAD, unexpired } from "./sql-parts.ts";
import { visible, type TenantScope } from "./tenant-scope.ts";

type KindCounts = { readonly version: bigint; readonly kinds: Readonly<Record<string, number>> };
const NODE_KINDS = statement<KindCounts>(
  "membership.node_kinds",
  `select ${HEAD} as version, coalesce((select json_object_agg(k.kind, k.n) from (
     select n.kind, count(*)::int as n from membership.node n where ${visible("n")} group by n.kind order by n.kind) k), '{}') as kinds`,
);
const EDGE_KINDS = statement<KindCounts>(
  "membership.edge_kinds",
  `select ${HEAD} as version, coalesce((select json_object_agg(k.kind, k.n) from (
     select e.kind, count(*)::int as n from membership.edge e
       join membership.node s on s.id = e.src and ${visible("s")} join membership.node d on d.id = e.dst and ${visible("d")}
     where ${unexpired("e")} group by e.kind order by e.kind) k), '{}') as kinds`,
);

const countBy =
  (kinds: typeof NODE_KINDS): SqlAnswer<"kindCounts"> =>
  async (sql, scope) => {
    const [row] = await sql.run(kinds, [scope.tenant]);
    return { version: row?.version ?? 0n, value: row?.kinds ?? {} };
  };
/** Visible nodes by kind. */
export const countKinds = countBy(NODE_KINDS);
/** Visible edges by kind. */
export const countEdgeKinds = countBy(EDGE_KINDS);

export interface Orphans {
  readonly kind: string;
  readonly count: number;
  /** The first of them, by id. */
  readonly sample: readonly string[];
}

const ORPHANS = statement<Orphans>(
  "membership.orphans",
  `select n.kind, count(*)::int as count, (array_agg(n.id order by n.id))[1:$2::int] as sample from membership.node n
   where ${visible("n")} and n.kind not in ('Tenant', 'Policy', 'Location')
     and not exists (select 1 from membership.edge e where e.src = n.id and ${unexpired("e")})
     and not exists (select 1 from membership.edge e where e.dst = n.id and ${unexpired("e")})
   group by n.kind order by n.kind`,
);

/** Visible nodes with no edge at all, of whatever tenant the edge may be. */
export const readOrphans = (sql: Sql, scope: TenantScope, sample: number): Promise<readonly Orphans[]> =>
  sql.run(ORPHANS, [scope.tenant, sample]);
