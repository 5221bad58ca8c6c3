import type { Caller } from "#authn/model/caller.ts";
import type { Problem } from "#contract/problem.ts";
import { whyRefused } from "#pdp-client/obligations.ts";
import type { DecisionPoint, Verdict } from "#pdp/engine/decision-point.ts";
import { metHere } from "#pdp/engine/obligations.ts";
import { askOfCaller } from "./ask-of-caller.ts";

/** A pair of the vocabulary, of one thing or of the whole collection. */
export interface Right {
  readonly type: string;
  readonly action: string;
  readonly id?: string;
}

/** Whether a right is the caller's; `step_up`: it would be after a fresh strong sign-in. */
export type Standing = "granted" | "denied" | "step_up";

export interface AskRightsParts {
  readonly decisionPoint: DecisionPoint;
  /** This service, as it asks itself. */
  readonly self: string;
  /** Where a person signs in anew. */
  readonly publicOrigin: string;
  readonly now: () => Date;
}

/** Why a verdict does not open what this service itself serves; `undefined`: it does. */
export const verdictRefusal = (
  verdict: Pick<Verdict, "decision" | "reason" | "obligations">,
  decisionId: string,
  caller: Caller,
  parts: Pick<AskRightsParts, "publicOrigin" | "now">,
): Problem | undefined => {
  const { decision, reason = "not_granted", obligations } = verdict;
  return whyRefused({ decision, decisionId, obligations, reason: decision ? undefined : reason }, caller, {
    publicOrigin: parts.publicOrigin,
    now: parts.now(),
    meets: metHere,
  });
};

/**
 * How a caller stands to rights, in order and unrecorded: for what is shown more or less of, not refused. What is refused goes through
 * `RequirePair`, so that the refusal has a decision on record. Cost: one batch.
 */
export const createAskRights =
  (parts: AskRightsParts) =>
  async (caller: Caller, rights: readonly Right[]): Promise<readonly Standing[]> => {
    const { verdicts } = await parts.decisionPoint.evaluateMany(
      rights.map((right) => askOfCaller(caller, parts.self, right)),
      "execute_all",
    );
    return rights.map((_right, index) => {
      const verdict = verdicts[index];
      if (verdict === undefined) return "denied";
      const refusal = verdictRefusal(verdict, "", caller, parts);
      if (refusal === undefined) return "granted";
      return refusal.code === "step_up_required" ? "step_up" : "denied";
    });
  };
