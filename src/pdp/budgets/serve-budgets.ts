import { ask as askPeer } from "#contract/ask.ts";
import { budgetSnapshot, effectiveBudgets } from "#contract/budgets.ts";
import { Problem } from "#contract/problem.ts";
import type { Caller } from "#authn/model/caller.ts";
import type { Router } from "#http/serve.ts";
import type { RequirePair } from "#pdp/rights/require-pair.ts";
import { asThisService, type PeerFactsParts } from "#pdp/facts/fact-source.ts";
import { effectiveOf } from "./effective.ts";

export interface BudgetParts extends PeerFactsParts {
  readonly requirePair: RequirePair;
}

const pairs = { team: { type: "budgets", action: "view_team" }, tenant: { type: "budgets", action: "view_tenant" } } as const;

/** Budgets as they stand, read from membership's ledger at the moment of asking. Without it there is no answer, never an empty one. */
export const serveBudgetStates = (router: Router<Caller>, parts: BudgetParts): void => {
  const read = async (caller: Caller, scope: "user" | "team" | "tenant") => {
    try {
      return await askPeer(parts.membership, budgetSnapshot, {
        query: { user_id: caller.sub, tenant_id: caller.tenant, scope },
        ...(await asThisService(parts, "membership.budget")),
      });
    } catch (cause) {
      throw new Problem("budget_unavailable", { cause, headers: { "retry-after": "5" } });
    }
  };

  router.serve(effectiveBudgets, async ({ caller, query, correlationId }) => {
    if (caller.tenant === "" || caller.tenant === "*") throw new Problem("tenant_required");
    if (query.scope !== "user") await parts.requirePair(caller, pairs[query.scope], correlationId);
    const rows = effectiveOf(await read(caller, query.scope), query.period);
    // A row of all agents together is the person's.
    const { agent } = caller;
    return { snapshot: agent === undefined ? rows : rows.filter((row) => row.selector.provider === agent) };
  });
};
