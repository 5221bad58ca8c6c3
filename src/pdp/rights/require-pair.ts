import type { Caller } from "#authn/model/caller.ts";
import { Problem } from "#contract/problem.ts";
import type { DecisionLog } from "#pdp/records/decision-log.ts";
import { askOfCaller } from "./ask-of-caller.ts";
import { verdictRefusal, type AskRightsParts, type Right } from "./ask-rights.ts";

export interface RequirePairParts extends AskRightsParts {
  readonly records: DecisionLog;
  readonly nextDecisionId: () => string;
}

/**
 * Passes whoever the policies permit this. Throws what a route of the gateway throws: `access_denied` (403) with the decision's id and
 * reason, `step_up_required` (401) with the challenge where a fresh strong sign-in would do.
 */
export type RequirePair = (caller: Caller, pair: Right, correlationId: string) => Promise<{ readonly decisionId: string }>;

/** The check of the decision point's own operations: decided and recorded like every other decision. */
export const createRequirePair =
  (parts: RequirePairParts): RequirePair =>
  async (caller, pair, correlationId) => {
    const started = performance.now();
    const callId = parts.nextDecisionId();
    const decided = await parts.decisionPoint.evaluateMany([askOfCaller(caller, parts.self, pair)], "execute_all");
    const [verdict] = decided.verdicts;
    if (verdict === undefined) throw new Problem("engine_failed", { cause: "no verdict" });
    await parts.records.record({
      callId,
      batch: false,
      decidedAt: parts.now(),
      pep: parts.self,
      fallbackTenant: caller.tenant,
      policyVersion: decided.policyVersion,
      graphVersion: decided.graphVersion,
      latencyUs: Math.round((performance.now() - started) * 1000),
      correlationId,
      items: [{ index: 0, verdict }],
    });
    const refusal = verdictRefusal(verdict, callId, caller, parts);
    if (refusal !== undefined) throw refusal;
    return { decisionId: callId };
  };
