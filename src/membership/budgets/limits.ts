import { createHash } from "node:crypto";
import type { BudgetLimit } from "#contract/budgets.ts";
import { usdFromMicro } from "#contract/ids.ts";
import { statement, type Sql } from "#store/database.ts";
import type { TenantScope } from "#membership/graph/tenant-scope.ts";

interface LimitRow extends Omit<BudgetLimit, "limit_id" | "limit_usd" | "used_usd" | "held_usd"> {
  readonly id: string;
  readonly limit_micro: bigint;
  readonly used_micro: bigint;
  readonly held_micro: bigint;
}

const COLUMNS = `b.id, b.scope, b.node_id, b.agent_id, b.period, b.limit_micro, coalesce(u.used_micro, 0) as used_micro,
   coalesce(u.held_micro, 0) as held_micro,
   (membership.budget_period(b.period, now()) at time zone 'UTC'
     + case b.period when 'daily' then interval '1 day' else interval '1 month' end) at time zone 'UTC' as resets_at,
   b.changed_by, b.changed_at`;
const FROM = `membership.budget_limit b left join membership.budget_use u
   on u.limit_id = b.id and u.period_start = membership.budget_period(b.period, now())`;
const OURS = "($1::text = '*' or b.tenant_id = $1::text)";

const limitView = (row: LimitRow): BudgetLimit => ({
  limit_id: row.id,
  scope: row.scope,
  node_id: row.node_id,
  agent_id: row.agent_id,
  period: row.period,
  limit_usd: usdFromMicro(row.limit_micro),
  used_usd: usdFromMicro(row.used_micro),
  held_usd: usdFromMicro(row.held_micro),
  resets_at: row.resets_at,
  changed_by: row.changed_by,
  changed_at: row.changed_at,
});

const LIST = statement<LimitRow>(
  "membership.budget_limits",
  `select ${COLUMNS} from ${FROM} where ${OURS} order by b.scope, b.node_id, b.agent_id nulls first, b.period limit 1000`,
);
/** Every limit of the tenant with what is spent of it now, at most 1,000. */
export const listLimits = async (sql: Sql, scope: TenantScope): Promise<readonly BudgetLimit[]> =>
  (await sql.run(LIST, [scope.tenant])).map(limitView);

const OF_PERSON = statement<LimitRow>(
  "membership.budget_limits_of_person",
  `select ${COLUMNS} from ${FROM} where ${OURS} and b.tenant_id = $3 and b.scope = $4
     and b.node_id in (select membership.budget_nodes($2, $3)) order by b.id`,
);
/** Limits of this scope that a person's agents spend under. */
export const limitsOfPerson = async (
  sql: Sql,
  scope: TenantScope,
  person: { readonly userId: string; readonly tenantId: string; readonly scope: BudgetLimit["scope"] },
): Promise<readonly BudgetLimit[]> =>
  (await sql.run(OF_PERSON, [scope.tenant, person.userId, person.tenantId, person.scope])).map(limitView);

const ONE = statement<LimitRow>("membership.budget_limit", `select ${COLUMNS} from ${FROM} where ${OURS} and b.id = $2`);
/** `undefined`: unknown or foreign. */
export const findLimit = async (sql: Sql, scope: TenantScope, id: string): Promise<BudgetLimit | undefined> => {
  const [row] = await sql.run(ONE, [scope.tenant, id]);
  return row === undefined ? undefined : limitView(row);
};

export interface LimitDraft {
  readonly tenantId: string;
  readonly scope: BudgetLimit["scope"];
  readonly nodeId: string;
  readonly agentId: string | undefined;
  readonly period: BudgetLimit["period"];
  readonly limitMicro: bigint;
  readonly changedBy: string;
}

/** The same thing limited for the same time is the same limit. */
const limitIdOf = (draft: LimitDraft): string =>
  `budget-${createHash("sha256")
    .update(JSON.stringify([draft.tenantId, draft.scope, draft.nodeId, draft.agentId ?? null, draft.period]))
    .digest("hex")
    .slice(0, 24)}`;

/** Waits for reserves and settlements under way and keeps new ones out until the commit: none may be missed by the sum below. */
const QUIET = statement("membership.budget_quiet", "lock table membership.reservation in share row exclusive mode");
const PUT = statement<{ is_new: boolean }>(
  "membership.budget_limit_put",
  `insert into membership.budget_limit as b (id, tenant_id, scope, node_id, agent_id, period, limit_micro, changed_by)
   values ($1, $2, $3, $4, $5, $6, $7, $8)
   on conflict (id) do update set limit_micro = $7, changed_by = $8, changed_at = now() returning (xmax = 0) as is_new`,
);
/** What was reserved in this period already counts from the first moment. */
const COUNT_IN = statement(
  "membership.budget_count_in",
  `with mine as (
     select x.id, x.state, x.micro, x.charged_micro, membership.budget_period(b.period, x.created_at) as since
     from membership.budget_limit b join membership.reservation x on x.tenant_id = b.tenant_id
       and x.created_at >= membership.budget_period(b.period, now()) and x.state <> 'released' and x.micro > 0
     where b.id = $1 and exists (select 1 from membership.budget_limits_of(x.delegation_id) l where l.id = b.id)),
   h as (insert into membership.budget_hold (reservation_id, limit_id, period_start) select id, $1, since from mine on conflict do nothing)
   insert into membership.budget_use (limit_id, period_start, used_micro, held_micro)
   select $1, since, coalesce(sum(charged_micro), 0)::bigint, coalesce(sum(micro) filter (where state = 'held'), 0)::bigint
   from mine group by since on conflict do nothing`,
);

/** Sets a limit, new or changed; in force at the commit. It may lie below what is spent: then nothing more is held. */
export const putLimit = async (sql: Sql, draft: LimitDraft): Promise<string> => {
  const id = limitIdOf(draft);
  await sql.run(QUIET);
  const values = [id, draft.tenantId, draft.scope, draft.nodeId, draft.agentId ?? null, draft.period, draft.limitMicro, draft.changedBy];
  const [put] = await sql.run(PUT, values);
  if (put?.is_new === true) await sql.run(COUNT_IN, [id]);
  return id;
};

const DROP = statement("membership.budget_limit_drop", "delete from membership.budget_limit where id = $1");
/** Spending goes on under the limits that are left. */
export const dropLimit = async (sql: Sql, id: string): Promise<void> => {
  await sql.run(QUIET);
  await sql.run(DROP, [id]);
};
