import { statement, type Sql } from "#store/database.ts";
import type { Level } from "#membership/graph-edit/holders.ts";
import { unexpired } from "#membership/graph/sql-parts.ts";
import { visible, type TenantScope } from "#membership/graph/tenant-scope.ts";

interface HolderRow {
  readonly id: string;
  readonly name: string;
  readonly node_type: string;
  readonly level: Level;
  readonly since: string;
  readonly granted_by: string | null;
}

/** $2 the thing, $3 the kind of edge; of what is controlled the edge begins there, of what is owned it ends there. */
const HOLDERS = statement<HolderRow>(
  "membership.holders",
  `select h.id, h.name, h.kind as node_type, e.props ->> 'level' as level, e.created_at as since,
     (select c.actor from membership.graph_change_op o join membership.graph_change c on c.version = o.version
      where o.subject = e.id and o.op = 'put_edge' order by o.version desc limit 1) as granted_by
   from membership.edge e
   join membership.node h on h.id = case when $3 = 'CONTROLLED_BY' then e.dst else e.src end and ${visible("h")}
   where e.kind = $3 and $2 = case when $3 = 'CONTROLLED_BY' then e.src else e.dst end and (e.src = $2 or e.dst = $2) and ${unexpired("e")}
   order by level desc, h.id`,
);

/** Who controls or owns it now, the primary one first. */
export const readHolders = (
  sql: Sql,
  scope: TenantScope,
  thing: string,
  kind: "CONTROLLED_BY" | "OWNS_RESOURCE",
): Promise<readonly HolderRow[]> => sql.run(HOLDERS, [scope.tenant, thing, kind]);

const RTR = statement<{ id: string; name: string }>(
  "membership.rtr_named",
  `select n.id, n.name from membership.node n where n.kind = 'RTR' and ${visible("n")} and (n.id = $2 or n.name = $2)
     and ($3::text is null or n.props ->> 'resource_type' = $3) order by n.id = $2 desc, n.id limit 2`,
);

/** Roles of that id or name on that type of resource; the one of the id first. */
export const findRtrs = (sql: Sql, scope: TenantScope, rtr: string, resourceType: string | null) =>
  sql.run(RTR, [scope.tenant, rtr, resourceType]);
