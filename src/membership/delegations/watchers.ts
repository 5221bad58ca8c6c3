import { statement, type Sql } from "#store/database.ts";
import { unexpired } from "#membership/graph/sql-parts.ts";

const CONTROLLERS = statement<{ id: string }>(
  "membership.agent_controllers",
  `select e.dst as id from membership.edge e join membership.node n on n.id = e.dst and n.kind = 'Person' and n.state = 'active'
   where e.src = $1 and e.kind = 'CONTROLLED_BY' and ${unexpired("e")} order by e.dst`,
);

/** Who hears of a delegation as its own affair: the delegator and the persons who control the agent. */
export const listWatchers = async (sql: Sql, delegatorId: string, agentId: string): Promise<readonly string[]> => [
  ...new Set([delegatorId, ...(await sql.run(CONTROLLERS, [agentId])).map(({ id }) => id)]),
];
