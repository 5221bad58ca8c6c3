import type { DecisionRecord } from "#contract/decisions.ts";

/** The word for how a decision fell: a denial for want of assurance has its own, since there is a way out at once. */
export const shownVerdictOf = (record: Pick<DecisionRecord, "decision" | "reason">): "allow" | "deny" | "step_up" => {
  if (record.decision) return "allow";
  return record.reason === "step_up_required" ? "step_up" : "deny";
};

/** Type and id of what was asked for: a whole kind is named by its type alone, a secret by its reference in place of its id. */
export const resourceText = ({ type, id, ref }: DecisionRecord["resource"]): string =>
  [type, id === "*" ? undefined : (id ?? ref)].filter((part) => part !== undefined).join(" ");
