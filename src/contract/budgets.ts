import { z } from "zod";
import { endpoint, withoutAgents } from "./endpoint.ts";
import { nodeId, plainText, prose, sentUsd, timestamp, usd } from "./ids.ts";

/** What may be spent: effective budgets for people and their pages, and the limits of a day or a month. */

export const budgetScopes = ["user", "team", "tenant"] as const;
export const budgetScope = z.enum(budgetScopes);
export const limitPeriods = ["daily", "monthly"] as const;

/** One budget as it stands. Money is USD with at most 6 decimals. */
export const effectiveBudget = z.object({
  scope: budgetScope,
  period: z.enum([...limitPeriods, "delegation"]),
  selector: z.object({ category: z.string(), provider: z.string().nullable(), model: z.string().nullable() }),
  limit_usd: usd,
  /** Settled. */
  consumed_usd: usd,
  /** Held by calls under way, and lent to delegations below. */
  reserved_usd: usd,
  remaining_policy_usd: usd,
  decision: z.enum(["allow", "deny"]),
  reason: z.enum(["within_budget", "budget_exhausted", "steps_exhausted", "expired", "paused"]),
  /** Of period `delegation`. */
  delegation_id: z.string().optional(),
  max_steps: z.number().int().optional(),
  steps_used: z.number().int().optional(),
  /** Of a limit: whose it is, and when its period ends (UTC). */
  node_id: z.string().optional(),
  resets_at: timestamp.optional(),
});
export type EffectiveBudget = z.infer<typeof effectiveBudget>;

export const effectiveBudgets = endpoint("pdp", "GET", "/access/v1/budgets/effective", {
  query: z.strictObject({
    scope: budgetScope.default("user"),
    period: z.enum([...limitPeriods, "delegation"]).optional(),
  }),
  reply: z.object({ snapshot: z.array(effectiveBudget) }),
  auth: "bearer",
  agents: "own",
  problems: ["access_denied", "step_up_required", "budget_unavailable"],
  summary: "One's own budgets as they stand; those of one's team or tenant need budgets/view_team or budgets/view_tenant.",
});

// ---- membership: the limits, and what the answer above is made of ----

const BASE = "/api/v1/budget-limits";
const problems = ["not_found"] as const;

export const budgetLimit = z.object({
  limit_id: z.string(),
  scope: budgetScope,
  node_id: z.string(),
  /** null = all agents together. */
  agent_id: z.string().nullable(),
  period: z.enum(limitPeriods),
  limit_usd: usd,
  used_usd: usd,
  held_usd: usd,
  resets_at: timestamp,
  changed_by: z.string(),
  changed_at: timestamp,
});
export type BudgetLimit = z.infer<typeof budgetLimit>;

export const listBudgetLimits = endpoint("membership", "GET", BASE, {
  reply: z.object({ items: z.array(budgetLimit) }),
  ...withoutAgents({ scope: ["membership.read"], decision: "budgets/view_tenant" }),
  summary: "The tenant's limits with what is spent of them in this period.",
});

export const budgetLimitDraft = z.strictObject({
  scope: budgetScope,
  /** A person, a group or the tenant itself; of scope `tenant` it may be left out. */
  node_id: nodeId.optional(),
  agent_id: nodeId.optional(),
  period: z.enum(limitPeriods),
  limit_usd: sentUsd(1_000_000),
  reason: prose(3, 500).optional(),
});

export const putBudgetLimit = endpoint("membership", "PUT", BASE, {
  body: budgetLimitDraft,
  reply: budgetLimit,
  ...withoutAgents({ scope: ["membership.write"], decision: "budgets/edit" }),
  problems: [...problems, "unprocessable"],
  summary: "Sets the limit of a person's, a group's or the tenant's agents for a day or a month; in force when it is answered.",
});

export const dropBudgetLimit = endpoint("membership", "DELETE", `${BASE}/{id}`, {
  params: z.object({ id: plainText(1, 64) }),
  reply: z.object({ dropped: z.literal(true) }),
  ...withoutAgents({ scope: ["membership.write"], decision: "budgets/edit" }),
  problems,
  summary: "Takes a limit away.",
});

export const budgetSnapshot = endpoint("membership", "GET", "/api/v1/budgets/snapshot", {
  query: z.strictObject({ user_id: nodeId, tenant_id: nodeId, scope: budgetScope }),
  reply: z.object({
    delegations: z.array(
      z.object({
        delegation_id: z.string(),
        agent_id: z.string(),
        status: z.enum(["active", "paused", "expired"]),
        limit_usd: usd,
        used_usd: usd,
        reserved_usd: usd,
        max_steps: z.number().int(),
        used_steps: z.number().int(),
        reserved_steps: z.number().int(),
        expires_at: timestamp.nullable(),
      }),
    ),
    limits: z.array(budgetLimit),
  }),
  ...withoutAgents({ scope: ["membership.budget"] }),
  summary: "For the decision point: delegations that have not ended (of scope user) and the limits of this scope, at one moment.",
});
