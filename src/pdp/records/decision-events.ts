import type { EventDraft } from "#events/change.ts";
import { formatDecisionId } from "./decision-id.ts";
import { isAct, type CallDraft, type StoredItem } from "./record.ts";

/** Which decisions other systems hear of: none, denials and acts, or every one. */
export type DecisionEvents = "off" | "acts" | "all";

export const decisionsTopic = "authz.decisions.v1";

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
  const told = wanted === "all" ? group.items : group.items.filter((item) => isAct(item));
  return told.map((item) => ({
    type: "authz.decision",
    tenant: group.tenant,
    topic: decisionsTopic,
    about: group.subject,
    key: draft.callId,
    data: {
      decision_id: formatDecisionId({ callId: draft.callId, ...(item.index === undefined ? {} : { index: item.index }) }),
      ...(group.agent === null ? {} : { agent: group.agent }),
      resource_type: item.type,
      ...(item.ref === undefined ? {} : { resource_ref: item.ref }),
      action: item.action,
      decision: item.decision,
      ...(item.reason === undefined ? {} : { reason: item.reason }),
      policy_version: draft.policyVersion,
      ...(draft.graphVersion === undefined ? {} : { graph_version: draft.graphVersion }),
      latency_ms: draft.latencyUs / 1000,
      cached: item.cached,
      ...(item.index === undefined ? {} : { batch_index: item.index }),
    },
    correlationId: draft.correlationId,
  }));
};
