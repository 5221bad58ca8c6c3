import type { EventDraft } from "#events/model/event-draft.ts";
import { formatDecisionId } from "./decision-id.ts";
import { isAct, type CallDraft, type StoredItem } from "./record.ts";

/** Which decisions other systems hear of: none, denials and acts, or every one, what was only asked to draw a page too. */
export type DecisionEvents = "off" | "acts" | "all";

/**
 * `authz.decision`: what was decided, never about whom by name, of what by more than its type, or with which arguments.
 * A secret has its reference, everything else only its type.
 */
export const eventsOf = (
  draft: CallDraft,
  group: { readonly tenant: string; readonly subject: string; readonly agent: string | null; readonly items: readonly StoredItem[] },
  wanted: DecisionEvents,
): readonly EventDraft[] => {
  if (wanted === "off") return [];
  const reported = wanted === "all" ? group.items : group.items.filter((item) => item.showing !== true && isAct(item));
  return reported.map((item) => ({
    type: "authz.decision",
    tenant: group.tenant,
    about: group.subject,
    key: draft.callId,
    data: {
      decision_id: formatDecisionId({ callId: draft.callId, index: item.index }),
      agent: group.agent ?? undefined,
      resource_type: item.type,
      resource_ref: item.ref,
      action: item.action,
      decision: item.decision,
      reason: item.reason,
      showing: item.showing === true || undefined,
      policy_version: draft.policyVersion,
      graph_version: draft.graphVersion,
      latency_ms: draft.latencyUs / 1000,
      cached: item.cached,
      batch_index: item.index,
    },
    correlationId: draft.correlationId,
  }));
};
