import { usdFromMicro } from "#contract/ids.ts";
import { statement, type Sql } from "#store/database.ts";
import { effectiveStatus } from "#membership/graph/sql-parts.ts";
import type { TenantScope } from "#membership/graph/tenant-scope.ts";

interface DelegationBudget {
  readonly id: string;
  readonly agent_id: string;
  readonly status: "active" | "paused" | "expired";
  readonly limit_micro: bigint;
  readonly used_micro: bigint;
  readonly reserved_micro: bigint;
  readonly limit_steps: bigint;
  readonly used_steps: bigint;
  readonly reserved_steps: bigint;
  readonly expires_at: string | null;
}

const DELEGATIONS = statement<DelegationBudget>(
  "membership.budget_delegations",
  `select d.id, d.agent_id, ${effectiveStatus("d")} as status, m.limit_micro, m.used_micro, m.held_micro + m.lent_micro as reserved_micro,
     m.limit_steps, m.used_steps, m.held_steps + m.lent_steps as reserved_steps, d.expires_at
   from membership.delegation d join membership.meter m on m.delegation_id = d.id
   where ($1::text = '*' or d.tenant_id = $1::text) and d.tenant_id = $3 and d.delegator_id = $2 and d.status in ('active', 'paused')
     and ${effectiveStatus("d")} <> 'revoked'
   order by d.agent_id, d.id limit 1000`,
);

/** What a person has delegated and not ended, with its meters; what the clock has just ended is `expired`. At most 1,000. */
export const delegationBudgets = async (sql: Sql, scope: TenantScope, userId: string, tenantId: string) =>
  (await sql.run(DELEGATIONS, [scope.tenant, userId, tenantId])).map((row) => ({
    delegation_id: row.id,
    agent_id: row.agent_id,
    status: row.status,
    limit_usd: usdFromMicro(row.limit_micro),
    used_usd: usdFromMicro(row.used_micro),
    reserved_usd: usdFromMicro(row.reserved_micro),
    max_steps: Number(row.limit_steps),
    used_steps: Number(row.used_steps),
    reserved_steps: Number(row.reserved_steps),
    expires_at: row.expires_at,
  }));
