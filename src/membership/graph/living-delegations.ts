import type { LivingDelegations } from "#authn/model/agent-rule.ts";
import { statement, type Database } from "#store/database.ts";
import { live } from "./sql-parts.ts";

const LIVES = statement<{ readonly lives: boolean }>(
  "membership.delegations_live",
  `select bool_and(exists (
     select from membership.delegation d
       join membership.node u on u.id = d.delegator_id and u.state = 'active'
       join membership.node a on a.id = d.agent_id and a.state = 'active'
     where d.delegator_id = hop.user_id and d.agent_id = hop.agent_id and d.tenant_id = $1 and ${live("d")})) as lives
   from unnest($2::text[], $3::text[]) as hop (user_id, agent_id)`,
);

/** Reads the database itself, so a revocation that has answered holds for whoever asks after it. */
export const createLivingDelegations =
  (database: Pick<Database, "run">): LivingDelegations =>
  async (tenant, hops) => {
    const [row] = await database.run(LIVES, [tenant, hops.map(({ userId }) => userId), hops.map(({ agentId }) => agentId)]);
    return row?.lives === true;
  };
