import { statement, type Sql } from "#store/database.ts";
import { visible, type TenantScope } from "#membership/graph/tenant-scope.ts";
import { DELEGATION, DELEGATION_FROM, type DelegationRow } from "./delegation-view.ts";

export interface ListAsk {
  /** Only those after this id. */
  readonly after: string;
  readonly delegatorId?: string | undefined;
  readonly agentId?: string | undefined;
  readonly status?: string | undefined;
  readonly attention: boolean;
  readonly limit: number;
}

/** 80 % of steps or money used up, or ending within 7 days. */
const ATTENTION = "(l.status in ('active', 'paused') and (l.used_up >= 80 or l.expires_at < now() + interval '7 days'))";

const LIST = statement<DelegationRow>(
  "membership.delegation_list",
  `select * from (
     select ${DELEGATION} from ${DELEGATION_FROM}
     where ${visible("d")} and d.id > $2 and ($3::text is null or d.delegator_id = $3
       or (d.parent_id is not null and $3 = (select t.delegator_id from membership.delegation t where t.id = d.path[1]))) and ($4::text is null or d.agent_id = $4)) l
   where ($5::text is null or l.status = $5) and (not $6::boolean or ${ATTENTION}) order by l.id limit $7`,
);

/** By id, from after the given one. */
export const listDelegations = (sql: Sql, scope: TenantScope, ask: ListAsk): Promise<readonly DelegationRow[]> =>
  sql.run(LIST, [scope.tenant, ask.after, ask.delegatorId ?? null, ask.agentId ?? null, ask.status ?? null, ask.attention, ask.limit]);
