import { requiredContext } from "../model/required-context.ts";
import type { Ask } from "./ask.ts";

/** A clean answer, and under which id it is on record where it said so. */
export interface Answered {
  readonly can: "allowed" | "denied";
  readonly decisionId?: string;
  /** Denied, and a stronger sign-in would be let through. */
  readonly isStepUp?: boolean;
}

/** Loads one decision, batched with those asked at the same moment. */
export type LoadDecision = (ask: Ask) => Promise<Answered>;

export const [DecisionContext, useLoadDecision] = requiredContext<LoadDecision>("decisions");
