import type { Caller } from "#authn/caller.ts";
import { Problem } from "#contract/problem.ts";
import type { DecisionPoint } from "#pdp/decision-point.ts";
import type { DecisionLog } from "#pdp/records/decision-log.ts";
import { askOfCaller } from "./ask-of-caller.ts";

export interface RequirePairParts {
  readonly decisionPoint: DecisionPoint;
  readonly records: DecisionLog;
  readonly nextDecisionId: () => string;
  /** This service, as records name it. */
  readonly self: string;
  readonly now: () => Date;
}

/** Passes whoever the policies permit this; else throws `access_denied` with the decision's id and reason. */
export type RequirePair = (
  caller: Caller,
  pair: { readonly type: string; readonly action: string; readonly id?: string },
  correlationId: string,
) => Promise<{ readonly decisionId: string }>;

/** The door of the decision point's own operations: decided and recorded like every other decision. */
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
    if (verdict.decision && verdict.obligations.length === 0) return { decisionId: callId };
    const reason = verdict.reason ?? (verdict.decision ? "obligation_unsupported" : "not_granted");
    throw new Problem("access_denied", { members: { decision_id: callId, reason } });
  };
