import { statement, type Sql } from "#store/database.ts";
import type { ReplyOf } from "#contract/endpoint.ts";
import type { listControllers } from "#contract/governance.ts";
import { EDGE, type KeptEdge } from "#membership/graph/drop-edge.ts";
import { live, unexpired } from "#membership/graph/sql-parts.ts";
import { visible, type TenantScope } from "#membership/graph/tenant-scope.ts";

type HolderRow = Omit<ReplyOf<typeof listControllers>["controllers"][number], "controller_id"> & { readonly id: string };

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

const LIVE_OF_AGENT = statement<{ id: string; delegator_id: string; agent_id: string }>(
  "membership.live_of_agent",
  `select d.id, d.delegator_id, d.agent_id from membership.delegation d where (d.agent_id = $2 or d.delegator_id = $2) and ${live("d")}
     and ${visible("d")} order by d.id`,
);
/** Live delegations that an agent holds or gave. */
export const liveOfAgent = (sql: Sql, scope: TenantScope, agentId: string) => sql.run(LIVE_OF_AGENT, [scope.tenant, agentId]);
