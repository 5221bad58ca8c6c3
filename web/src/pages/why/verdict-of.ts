import type { DecisionRecord } from "#contract/decisions.ts";

/** The word for how a decision fell: a denial for want of assurance has its own, since there is a way out at once. */
export const verdictOf = (record: Pick<DecisionRecord, "decision" | "reason">): "allow" | "deny" | "step_up" => {
  if (record.decision) return "allow";
  return record.reason === "step_up_required" ? "step_up" : "deny";
};

/** Type and id of what was asked for; a secret has a reference in place of its id. */
export const resourceText = (resource: DecisionRecord["resource"]): string =>
  [resource.type, resource.id ?? resource.ref].filter((part) => part !== undefined).join(" ");
