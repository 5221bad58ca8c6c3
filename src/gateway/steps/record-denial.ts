import { actorKindOf } from "#authn/model/actor-kind.ts";
import type { EvaluationQuery, Principal } from "#pdp-client/pdp-client.ts";
import type { Decision } from "#pdp-client/obligations.ts";
import type { EntryActor, Recorder } from "#events/audit/entry.ts";
import type { Log } from "#telemetry/log.ts";
import type { Inbound, InboundMethod } from "#gateway/model/inbound.ts";
import type { Route } from "#gateway/routes/route-table.ts";
import type { SessionRecord } from "#gateway/sessions/session-store.ts";

/** A request of a row, and who it comes from. */
export interface AskingRequest {
  readonly inbound: Inbound;
  readonly route: Route;
  readonly principal: Principal;
  readonly record: SessionRecord | undefined;
  /** The method decided on; that of the request, unless the request asks for another one. */
  readonly method: InboundMethod;
}

/** Who asked, as the audit log names them. */
export const actorOf = (principal: Principal, sessionRef: string | undefined): EntryActor => ({
  subject: principal.sub,
  kind: actorKindOf(principal),
  agent_id: principal.agent,
  client_id: principal.clientId,
  session_ref: sessionRef,
});

/** Records that a question of a request was denied. `reason`: the decision's, or what is said in its place. Never throws. */
export type RecordDenial = (
  request: AskingRequest,
  ask: Pick<EvaluationQuery, "type" | "id" | "action">,
  decided: Pick<Decision, "decisionId">,
  reason: string,
) => Promise<void>;

export const createRecordDenial =
  (parts: { readonly recorder: Pick<Recorder, "one">; readonly log: Log }): RecordDenial =>
  async ({ inbound, route, principal, record, method }, ask, { decisionId }, reason) => {
    const { correlationId } = inbound;
    const work = parts.recorder.one({
      tenant: principal.tenant,
      category: "decision",
      outcome: "denied",
      code: reason,
      actor: actorOf(principal, record?.ref),
      via: { service: "gateway", route_id: route.id },
      resource: { type: ask.type, id: ask.id },
      decisionId,
      correlationId,
      data: { action: ask.action, method, reason },
    });
    // The refusal stands whether or not it can be recorded here; the decision point has its own record.
    await work.catch((cause: unknown) => parts.log.warn("denial_not_recorded", { correlation_id: correlationId, cause }));
  };
