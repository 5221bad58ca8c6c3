import type { Reason } from "#contract/authzen.ts";
import type { Ask } from "#pdp/model/ask.ts";
import type { Engine } from "#pdp/engine/engine.ts";
import type { Question } from "#pdp/model/question.ts";
import type { StoredItem } from "#pdp/records/record.ts";
import { answerOf, evaluate } from "#pdp/engine/evaluation.ts";

/** What of a decision two versions may differ in. */
export interface Outcome {
  readonly decision: boolean;
  readonly reason?: Reason;
  /** Ids, sorted. */
  readonly obligations: readonly string[];
  readonly policies: readonly string[];
}

export const outcomeOf = (decided: Pick<StoredItem, "decision" | "reason" | "obligations" | "policies">): Outcome => ({
  decision: decided.decision,
  reason: decided.reason as Reason | undefined,
  obligations: decided.obligations.map(({ id }) => id).toSorted(),
  policies: [...decided.policies].toSorted(),
});

/** What this version says to a question, for an enforcement point that can meet these obligations. */
export const outcomeBy = (engine: Engine, question: Question, supported: Ask["supported"]): Outcome => {
  if (!engine.bundle.schema.actions.has(question.pair.key))
    return { decision: false, reason: "unknown_action", obligations: [], policies: [] };
  const evaluation = evaluate(engine, question);
  return outcomeOf({ ...answerOf(evaluation, engine, question, supported), policies: evaluation.policies });
};

/** What differs; empty = the same answer, whichever policies made it. */
export const differences = (one: Outcome, other: Outcome): readonly ("decision" | "reason" | "obligations")[] => [
  ...(one.decision === other.decision ? [] : (["decision"] as const)),
  ...(one.reason === other.reason ? [] : (["reason"] as const)),
  ...(one.obligations.join() === other.obligations.join() ? [] : (["obligations"] as const)),
];

/** How decisions come out that are made again, counted as they are shown. */
export interface Tally {
  evaluated: number;
  unchanged: number;
  newly_allowed: number;
  newly_denied: number;
  changed: number;
  not_replayable: number;
}

export const newTally = (): Tally => ({ evaluated: 0, unchanged: 0, newly_allowed: 0, newly_denied: 0, changed: 0, not_replayable: 0 });

/** Counts what became of one; true: the two differ. */
export const countIn = (tally: Tally, before: Outcome, after: Outcome): boolean => {
  const isSame = differences(before, after).length === 0;
  const kind = before.decision === after.decision ? "changed" : after.decision ? "newly_allowed" : "newly_denied";
  tally[isSame ? "unchanged" : kind] += 1;
  return !isSame;
};
