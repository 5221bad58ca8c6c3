import type { budgetSnapshot, BudgetLimit, EffectiveBudget } from "#contract/budgets.ts";
import type { ReplyOf } from "#contract/endpoint.ts";
import { microFromUsd, usdFromMicro } from "#contract/ids.ts";

type Snapshot = ReplyOf<typeof budgetSnapshot>;
type DelegationBudget = Snapshot["delegations"][number];

const periods: readonly EffectiveBudget["period"][] = ["daily", "monthly", "delegation"];

/** Never below nothing; in micro-USD, so that no rounding of the way between shows. */
const remaining = (limit: number, consumed: number, reserved: number): number => {
  const left = microFromUsd(limit) - microFromUsd(consumed) - microFromUsd(reserved);
  return usdFromMicro(left > 0n ? left : 0n);
};

const reasonOf = (row: DelegationBudget): EffectiveBudget["reason"] => {
  if (row.status === "expired") return "expired";
  if (row.status === "paused") return "paused";
  if (row.used_steps + row.reserved_steps >= row.max_steps) return "steps_exhausted";
  return row.limit_usd === 0 || remaining(row.limit_usd, row.used_usd, row.reserved_usd) > 0 ? "within_budget" : "budget_exhausted";
};

/** What a row of either kind says, whatever else it holds. */
const common = (row: DelegationBudget | BudgetLimit, consumed: number, reserved: number, reason: EffectiveBudget["reason"]) => ({
  selector: { category: "delegation", provider: row.agent_id, model: null } as const,
  limit_usd: row.limit_usd,
  consumed_usd: consumed,
  reserved_usd: reserved,
  remaining_policy_usd: remaining(row.limit_usd, consumed, reserved),
  decision: reason === "within_budget" ? ("allow" as const) : ("deny" as const),
  reason,
});

const ofDelegation = (row: DelegationBudget): EffectiveBudget => ({
  scope: "user",
  period: "delegation",
  ...common(row, row.used_usd, row.reserved_usd, reasonOf(row)),
  delegation_id: row.delegation_id,
  max_steps: row.max_steps,
  steps_used: row.used_steps,
});

const ofLimit = (row: BudgetLimit): EffectiveBudget => ({
  scope: row.scope,
  period: row.period,
  ...common(
    row,
    row.used_usd,
    row.held_usd,
    remaining(row.limit_usd, row.used_usd, row.held_usd) > 0 ? "within_budget" : "budget_exhausted",
  ),
  node_id: row.node_id,
  resets_at: row.resets_at,
});

const idOf = (row: EffectiveBudget): string => row.delegation_id ?? row.node_id ?? "";
const compare = (one: string, other: string): number => (one < other ? -1 : one > other ? 1 : 0);

/** The snapshot as people see it: by period, then agent (all together first), then id. */
export const effectiveOf = (snapshot: Snapshot, period: EffectiveBudget["period"] | undefined): EffectiveBudget[] =>
  [...snapshot.delegations.map(ofDelegation), ...snapshot.limits.map(ofLimit)]
    .filter((row) => period === undefined || row.period === period)
    .sort(
      (one, other) =>
        periods.indexOf(one.period) - periods.indexOf(other.period) ||
        compare(one.selector.provider ?? "", other.selector.provider ?? "") ||
        compare(idOf(one), idOf(other)),
    );
