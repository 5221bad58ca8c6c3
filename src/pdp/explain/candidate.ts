import type { Remedy } from "#contract/decisions.ts";
import type { Facts } from "#contract/facts.ts";
import type { Question } from "#pdp/question.ts";

type Step = Remedy["changes"][number]["steps"][number];

/** One small change of the world, what it costs, and the question as it would be after it. */
export interface Candidate {
  readonly step: Step;
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
