import { statement, type Sql } from "#store/database.ts";
import { EDGE, type KeptEdge } from "#membership/graph/drop-edge.ts";
import { unexpired } from "#membership/graph/sql-parts.ts";
import { visible, type TenantScope } from "#membership/graph/tenant-scope.ts";

type AssignmentRow = KeptEdge & { readonly rtr: string };

/** $2 actor, $3 resource, $4 assignment. */
const ASSIGNMENTS = statement<AssignmentRow>(
  "membership.rtr_assignments",
  `select ${EDGE}, coalesce(r.name, e.discr) as rtr
   from membership.edge e join membership.node a on a.id = e.src and ${visible("a")} join membership.node o on o.id = e.dst and ${visible("o")}
     left join membership.node r on r.id = e.discr
   where e.kind = 'HAS_RTR_AT' and ${unexpired("e")} and ($2::text is null or e.src = $2) and ($3::text is null or e.dst = $3)
     and ($4::text is null or e.id = $4) order by e.id limit $5 offset $6`,
);

/** Who has which role on which resource. */
export const readAssignments = (
  sql: Sql,
  scope: TenantScope,
  by: { readonly actor?: string | undefined; readonly resource?: string | undefined; readonly id?: string },
  page: { readonly limit: number; readonly skip: number },
): Promise<readonly AssignmentRow[]> =>
  sql.run(ASSIGNMENTS, [scope.tenant, by.actor ?? null, by.resource ?? null, by.id ?? null, page.limit, page.skip]);
