import type { EventDraft } from "#events/model/event-draft.ts";
import type { Verdict } from "#pdp/engine/decision-point.ts";
import { isMetHere } from "#pdp/engine/obligations.ts";
import { formatDecisionId } from "./decision-id.ts";
import type { CallDraft } from "./record.ts";

/** Persons of an audience, where the facts of the decision name them; of a group the receiver of the event finds them. */
const audienceOf = (audience: string, { ask, facts }: Verdict): readonly string[] | undefined => {
  if (audience === "subject") return [ask.subject.id];
  if (audience === "resource_owner") return facts?.resource?.owners ?? [];
  if (audience === "agent_controller") return facts?.agent?.controllers ?? [];
  return undefined;
};

/** The events by which the decision point meets its own obligation `notify`: no subject, no id, only where to look. */
export const noticesOf = (draft: CallDraft, index: number, verdict: Verdict): readonly EventDraft[] =>
  verdict.obligations.filter(isMetHere).map(({ properties = {} }) => {
    const decisionId = formatDecisionId({ callId: draft.callId, index: draft.batch ? index : undefined });
    const visibleTo = audienceOf(String(properties["audience"]), verdict);
    return {
      type: "decision.notice",
      tenant: verdict.tenant ?? draft.fallbackTenant,
      ...(visibleTo === undefined ? {} : { stream: "workflow" as const, kind: "notification", visibleTo }),
      key: decisionId,
      data: {
        decision_id: decisionId,
        audience: properties["audience"],
        template: properties["template"],
        decision: verdict.decision,
        action: verdict.ask.action,
        resource_type: verdict.ask.resource.type,
      },
      correlationId: draft.correlationId,
    };
  });
