import type { DecisionRecord, Remedy } from "#contract/decisions.ts";
import { isAskedForHere } from "../requests/asked-for-here.ts";

type Step = Remedy["changes"][number]["steps"][number];

/** What the page can open for a step of a remedy; the act itself is always decided anew. */
export type WayOut =
  | { readonly kind: "sign_in" }
  | { readonly kind: "ask" }
  | { readonly kind: "draft"; readonly agentId: string; readonly tool: string | undefined }
  | { readonly kind: "resume"; readonly id: string; readonly agentId: string }
  | { readonly kind: "renew"; readonly id: string; readonly agentId: string; readonly tool: string | undefined }
  /** This person's to do once what stands before it is done: until then the page that it leads to refuses. */
  | { readonly kind: "later" }
  /** This person's to do, where there is no page for it. */
  | { readonly kind: "elsewhere" };

/**
 * The way of this person to a step; `undefined`: it is for somebody else to do. Whether they may create a delegation with the agent
 * is still to be asked: `draft`, `resume` and `renew` lead on for nobody who may not.
 */
export const wayOutOf = (step: Step, record: DecisionRecord, viewerId: string, isFirst = true): WayOut | undefined => {
  const tool = record.resource.type === "tool" ? record.resource.id : undefined;
  if (step.kind === "approval") return isAskedForHere(record, viewerId) ? { kind: "ask" } : undefined;
  // An approval is asked for by who was refused; all else is done by who can.
  if (!step.who_can.includes(viewerId)) return undefined;
  if (step.kind === "sign_in_again") return record.agent === undefined ? { kind: "sign_in" } : undefined;
  const edge = step.kind === "add_edge" && step.edge?.kind === "DELEGATES_TO" ? step.edge : undefined;
  if (edge !== undefined && !isFirst) return { kind: "later" };
  if (edge !== undefined) return { kind: "draft", agentId: edge.to, tool };
  if (step.kind === "reactivate_edge" || step.kind === "raise_limit") {
    const edge = record.edges?.find((candidate) => candidate.kind === "DELEGATES_TO" && candidate.id !== undefined);
    if (edge?.id === undefined) return { kind: "elsewhere" };
    const { id, to: agentId } = edge;
    return step.kind === "reactivate_edge" ? { kind: "resume", id, agentId } : { kind: "renew", id, agentId, tool };
  }
  return { kind: "elsewhere" };
};
