import { Problem } from "#contract/problem.ts";
import type { Decision } from "#pdp-client/obligations.ts";
import type { EvaluationQuery, PdpClient } from "#pdp-client/pdp-client.ts";
import { noTracing } from "#telemetry/tracing.ts";
import { requestSteps } from "#gateway/model/request-steps.ts";
import type { EndByDecision } from "./end-by-decision.ts";
import type { GatewayParts } from "#gateway/model/gateway-parts.ts";
import { readBody } from "#gateway/model/read-body.ts";
import { clientOf } from "./recognise.ts";
import { createRecordDenial, type AskingRequest } from "./record-denial.ts";
import { askOfRoute, mappingOf, metByRow } from "./route-question.ts";

/** The part of a request that a decision is asked for. */
export interface RouteRequest extends AskingRequest {
  readonly captures: ReadonlyMap<string, string>;
}

/** A permit, and the body if the decision had to read it: those bytes are what goes on. */
export interface RoutePermit {
  readonly body: Uint8Array<ArrayBuffer> | undefined;
  /** Asks the same of an answer under way, because time went on: a permit leaves no record. Throws like the decision. */
  readonly again: () => Promise<void>;
}

/** Where nobody is asked. */
export const freePass: RoutePermit = { body: undefined, again: async () => undefined };

/** The most of a body that is read for a decision. */
export const MAX_DECIDED_BODY_BYTES = 65_536;

export type DecideRoute = (request: RouteRequest) => Promise<RoutePermit>;

/**
 * The decision check of a row. Answers only for a permit. Throws `access_denied` (403) with the decision's id and reason,
 * `step_up_required` (401), `no_mapping` (403), `decision_unavailable` (503), and the faults of the body.
 */
export const createDecideRoute = (
  parts: Pick<GatewayParts, "recorder" | "metrics" | "tracing" | "log"> & {
    readonly pdpClient: PdpClient;
    readonly endByDecision: EndByDecision;
  },
): DecideRoute => {
  const { tracing = noTracing } = parts;
  const recordDenial = createRecordDenial(parts);
  const deny = (request: RouteRequest, ask: EvaluationQuery, decided: Decision): Promise<void> =>
    recordDenial(request, ask, decided, decided.reason ?? "access_denied");

  const ask = async (request: RouteRequest, question: EvaluationQuery): Promise<Decision> => {
    const started = performance.now();
    const count = (decision: string) =>
      parts.metrics.count("bff_authz_requests_total", { resource: question.type, action: question.action, decision });
    try {
      const decided = await tracing.span(requestSteps.authorize.span, {}, () =>
        parts.pdpClient.decide(request.principal, question, request.inbound.correlationId),
      );
      count(decided.decision ? "allow" : "deny");
      return decided;
    } catch (cause) {
      count("error");
      throw cause;
    } finally {
      parts.metrics.observe("bff_authz_latency_seconds", { resource: question.type }, (performance.now() - started) / 1000);
    }
  };

  const require = async (request: RouteRequest, question: EvaluationQuery): Promise<void> => {
    const { inbound } = request;
    const decided = await ask(request, question);
    if (await parts.endByDecision(request.record, decided.obligations, inbound.correlationId)) {
      await deny(request, question, decided);
      throw new Problem("unauthenticated", { members: { decision_id: decided.decisionId } });
    }
    const refusal = parts.pdpClient.refusal(request.principal, decided, { meets: metByRow, publicOrigin: inbound.origin });
    if (refusal === undefined) return;
    await deny(request, question, decided);
    throw refusal;
  };

  return async (request) => {
    const { route, inbound, captures } = request;
    if (route.row.authz === "none") return freePass;
    if (mappingOf(route, request.method) === undefined)
      parts.metrics.count("bff_authz_requests_total", { resource: route.id, action: request.method, decision: "NoMapping" });
    const { question, body } = await askOfRoute({ ...request, captures, client: clientOf(inbound) }, () =>
      readBody(inbound, MAX_DECIDED_BODY_BYTES),
    );
    await require(request, question);
    return { body, again: () => require(request, { ...question, context: { ...question.context, background: true } }) };
  };
};
