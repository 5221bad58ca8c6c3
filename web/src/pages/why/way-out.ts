import type { DecisionRecord, Remedy } from "#contract/decisions.ts";

type Step = Remedy["changes"][number]["steps"][number];

/** What the page can open for a step of a remedy; the act itself is always decided anew. */
export type WayOut =
  | { readonly kind: "sign_in" }
  | { readonly kind: "draft"; readonly agentId: string; readonly tool: string | undefined }
  | { readonly kind: "delegation"; readonly id: string };

/** `undefined`: there is no screen for it here, or it is not for this person to do. */
export const wayOutOf = (step: Step, record: DecisionRecord, viewerId: string): WayOut | undefined => {
  const isSubject = record.subject?.id === viewerId;
  if (step.kind === "sign_in_again") return isSubject && record.agent === undefined ? { kind: "sign_in" } : undefined;
  if (step.kind === "add_edge" && step.edge?.kind === "DELEGATES_TO")
    return step.edge.from === viewerId
      ? { kind: "draft", agentId: step.edge.to, tool: record.resource.type === "tool" ? record.resource.id : undefined }
      : undefined;
  if (step.kind === "reactivate_edge" || step.kind === "raise_limit") {
    const edge = record.edges?.find((candidate) => candidate.kind === "DELEGATES_TO" && candidate.id !== undefined);
    return edge?.id === undefined ? undefined : { kind: "delegation", id: edge.id };
  }
  return undefined;
};
