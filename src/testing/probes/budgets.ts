import type * as topic from "#contract/budgets.ts";
import type { Probes } from "./probe.ts";

export const probes: Probes<typeof topic> = {
  budgetSnapshot: {
    unread: "asked by the decision point alone, with its own key",
    about: [
      { query: { user_id: "{id}", tenant_id: "tenant:acme", scope: "user" } },
      { query: { user_id: "person:eve", tenant_id: "{id}", scope: "tenant" } },
    ],
  },
  dropBudgetLimit: { about: [{ params: { id: "{id}" } }], attempts: [{ params: { id: "{limit}" } }] },
  effectiveBudgets: { agent: { gets: "own" } },
  listBudgetLimits: { about: [{}] },
  putBudgetLimit: {
    sample: { scope: "tenant", period: "daily", limit_usd: 1, reason: "For a test" },
    about: [
      { body: { scope: "user", node_id: "{id}", period: "daily", limit_usd: 1 } },
      { body: { scope: "team", node_id: "{id}", period: "daily", limit_usd: 1 } },
      { body: { scope: "tenant", node_id: "{id}", period: "daily", limit_usd: 1 } },
      { body: { scope: "user", node_id: "person:eve", agent_id: "{id}", period: "daily", limit_usd: 1 } },
    ],
    attempts: [{ body: { scope: "tenant", period: "daily", limit_usd: 1000000 } }],
  },
};
