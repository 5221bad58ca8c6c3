import type { Obligation, Reason } from "#contract/authzen.ts";
import type { Engine } from "#pdp/engine.ts";
import { areSupported, makeObligations } from "#pdp/obligations.ts";
import type { Question } from "#pdp/question.ts";
import { ruleOn } from "#pdp/ruling.ts";

/** What of a decision two versions may differ in. */
export interface Outcome {
  readonly decision: boolean;
  readonly reason?: Reason;
  /** Ids, sorted. */
  readonly obligations: readonly string[];
  readonly policies: readonly string[];
}

export const outcomeOf = (decided: {
  readonly decision: boolean;
  readonly reason?: string;
  readonly obligations: readonly Obligation[];
  readonly policies: readonly string[];
}): Outcome => ({
  decision: decided.decision,
  reason: decided.reason as Reason | undefined,
  obligations: decided.obligations.map(({ id }) => id).toSorted(),
  policies: [...decided.policies].toSorted(),
});

/** What this version says to a question, for an enforcement point that can meet these obligations. */
export const outcomeBy = (engine: Engine, question: Question, supported: "all" | ReadonlySet<string>): Outcome => {
  if (!engine.bundle.schema.actions.has(question.pair.key))
    return { decision: false, reason: "unknown_action", obligations: [], policies: [] };
  const ruling = ruleOn(engine, question);
  const obligations = makeObligations(ruling.obligations, engine.bundle, question.facts);
  const unmet = ruling.permit && !areSupported(obligations, supported);
  const reason = unmet ? "obligation_unsupported" : ruling.reason;
  return outcomeOf({
    decision: ruling.permit && !unmet,
    reason,
    obligations: unmet ? [] : obligations,
    policies: ruling.policies,
  });
};

/** What differs; empty = the same answer, whichever policies made it. */
export const differences = (one: Outcome, other: Outcome): readonly ("decision" | "reason" | "obligations")[] => [
  ...(one.decision === other.decision ? [] : (["decision"] as const)),
  ...(one.reason === other.reason ? [] : (["reason"] as const)),
  ...(one.obligations.join() === other.obligations.join() ? [] : (["obligations"] as const)),
];
