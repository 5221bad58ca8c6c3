import type { Remedy } from "#contract/decisions.ts";
import type { Facts } from "#contract/facts.ts";
import type { Engine } from "#pdp/engine/engine.ts";
import type { Question } from "#pdp/model/question.ts";

type Step = Remedy["changes"][number]["steps"][number];

/** One small change of the world, what it costs, and the question as it would be after it. */
export interface Candidate {
  readonly step: Step;
  /** Without it nobody can make the step. It changes nothing of the question itself. */
  readonly first?: Step;
  readonly cost: number;
  /** Holds for the one act that was asked for, and opens nothing else. */
  readonly thisActAlone?: true;
  apply(question: Question): Question;
}

/** The question with these facts changed. */
export const withFacts = (question: Question, more: Partial<Facts>): Question => {
  const { subject, ...rest } = more;
  return { ...question, facts: { ...question.facts, ...rest, subject: subject ?? question.facts.subject } };
};

/** Groups that the permits of an action name: who holds that right. */
export const holdersOf = (engine: Engine, action: string): string[] => [
  ...new Set(engine.slice(action).policies.flatMap((policy) => (policy.effect === "permit" ? [...policy.reads.groups] : []))),
];
