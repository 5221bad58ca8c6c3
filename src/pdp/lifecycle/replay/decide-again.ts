import type { Facts } from "#contract/facts.ts";
import { outcomeBy, outcomeOf, type Outcome } from "#pdp/lifecycle/compare/outcome.ts";
import type { Engine } from "#pdp/engine/engine.ts";
import type { Properties } from "#pdp/model/ask.ts";
import { questionOf, reachedPolicies, readsNotKept, sentButProperties } from "#pdp/decision/question-of.ts";
import type { Recorded } from "#pdp/records/record.ts";

/**
 * What a version says to a recorded decision on the facts it had. `undefined`: it cannot be told, for the facts are not kept, or the
 * version reads what was only sent and is kept as a digest, or what the enforcement point could meet decided it. `props`: what is known
 * of the properties all the same.
 */
export const decideAgain = (
  recorded: Recorded,
  facts: Facts | undefined,
  engine: Engine,
  emptyContext: string,
  props?: Properties,
): Outcome | undefined => {
  const { item } = recorded;
  if (item.policies.includes("authorization-disabled") || item.reason === "obligation_unsupported") return undefined;
  // Every version refuses what was refused before any policy was asked.
  if (!reachedPolicies(recorded)) return outcomeOf(item);
  const question = questionOf(recorded, facts);
  if (question === undefined) return undefined;
  if (readsNotKept(recorded, question, engine, emptyContext, props === undefined ? undefined : sentButProperties)) return undefined;
  return outcomeBy(engine, props === undefined ? question : { ...question, props }, "all");
};
