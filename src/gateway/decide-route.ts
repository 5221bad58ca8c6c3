import { Problem } from "#contract/problem.ts";
import { isFreshlyStrong } from "#authn/caller.ts";
import type { Recorder } from "#events/audit/entry.ts";
import { refusalOf, type Asker, type Decided, type DecideAsk, type Decider } from "#pdp/decide.ts";
import { parseStrictJson } from "#http/strict-json.ts";
import type { Log } from "#telemetry/log.ts";
import type { Metrics } from "#telemetry/metrics.ts";
import { noTracing, type Tracing } from "#telemetry/tracing.ts";
import { endsSession, type EndByDecision } from "./end-by-decision.ts";
import type { Inbound, InboundMethod } from "./front-door/inbound.ts";
import { readBytes } from "./read-body.ts";
import { readsBody, resolveMapping } from "./routes/authz-mapping.ts";
import type { RowMethod } from "./routes/route-row.ts";
import type { Route } from "./routes/route-table.ts";
import type { SessionRecord } from "./sessions/session-store.ts";

export interface DecideRouteParts {
  readonly decider: Decider;
  readonly recorder: Recorder;
  readonly publicOrigin: string;
  readonly endByDecision: EndByDecision;
  readonly now: () => Date;
  readonly metrics: Metrics;
  readonly tracing?: Tracing;
  readonly log: Log;
}

/** The part of a request that a decision is asked for. */
export interface RouteRequest {
  readonly inbound: Inbound;
  readonly route: Route;
  readonly captures: ReadonlyMap<string, string>;
  readonly asker: Asker;
  readonly record: SessionRecord | undefined;
  /** The method decided on; that of the request, unless the request asks for another one. */
  readonly method: InboundMethod;
}

/** A permit, and the body if the decision had to read it: those bytes are what is forwarded. */
export interface RoutePermit {
  readonly body: Uint8Array | undefined;
}

const MAX_BODY_BYTES = 65_536;

export type DecideRoute = (request: RouteRequest) => Promise<RoutePermit>;

/** Obligations of a permit that a gateway can meet: a fresh sign-in is asked for, a data scope is met by the service behind. */
const canMeet = (decided: Decided): boolean =>
  decided.obligations.every(
    (obligation) =>
      obligation.type === "step-up" || obligation.type === "custom" || obligation.type === "data_scope" || endsSession(obligation),
  );

/**
 * The decision door of a row. Answers only for a permit. Throws `access_denied` (403) with the decision's id and reason,
 * `step_up_required` (401), `no_mapping` (403), `decision_unavailable` (503), and the faults of the body.
 */
export const createDecideRoute = (parts: DecideRouteParts): DecideRoute => {
  const { tracing = noTracing } = parts;
  const recordDenial = async (request: RouteRequest, ask: DecideAsk, decided: Decided): Promise<void> => {
    const { asker, inbound, route } = request;
    const work = parts.recorder.one({
      tenant: asker.tenant,
      category: "decision",
      outcome: "denied",
      code: decided.reason ?? "access_denied",
      actor: {
        subject: asker.sub,
        kind: asker.agent === undefined ? (asker.sub.startsWith("service:") ? "service" : "person") : "agent",
        ...(asker.agent === undefined ? {} : { agent_id: asker.agent }),
        ...(asker.clientId === undefined ? {} : { client_id: asker.clientId }),
        ...(request.record === undefined ? {} : { session_ref: request.record.ref }),
      },
      via: { service: "gateway", route_id: route.id },
      resource: { type: ask.type, ...(ask.id === undefined ? {} : { id: ask.id }) },
      decisionId: decided.decisionId,
      correlationId: inbound.correlationId,
      data: { action: ask.action, method: request.method, reason: decided.reason ?? "access_denied" },
    });
    // The refusal stands whether or not it can be recorded here; the decision point has its own record.
    await work.catch((cause: unknown) => parts.log.warn("denial_not_recorded", { correlation_id: inbound.correlationId, cause }));
  };

  const ask = async (request: RouteRequest, question: DecideAsk): Promise<Decided> => {
    const started = performance.now();
    const count = (decision: string) =>
      parts.metrics.count("bff_authz_requests_total", { resource: question.type, action: question.action, decision });
    try {
      const decided = await tracing.span("pdp.decide", {}, () =>
        parts.decider.decide(request.asker, question, request.inbound.correlationId),
      );
      count(decided.decision ? "allow" : "deny");
      return decided;
    } catch (cause) {
      count("error");
      throw cause instanceof Problem && cause.code === "decision_unavailable" ? cause : new Problem("decision_unavailable", { cause });
    } finally {
      parts.metrics.observe("bff_authz_latency_seconds", { resource: question.type }, (performance.now() - started) / 1000);
    }
  };

  return async (request) => {
    const { route, inbound, captures } = request;
    if (route.row.authz === "none") return { body: undefined };
    const mapped = route.mappings.get((request.method === "HEAD" ? "GET" : request.method) as RowMethod);
    if (mapped === undefined) {
      parts.metrics.count("bff_authz_requests_total", { resource: route.id, action: request.method, decision: "NoMapping" });
      throw new Problem("no_mapping");
    }
    const body = readsBody(mapped.mapping) ? await readBytes(inbound, MAX_BODY_BYTES) : undefined;
    const resolved = resolveMapping(mapped.mapping, route.pattern, captures, body && parseStrictJson(body));
    const question: DecideAsk = {
      type: resolved.type,
      action: resolved.action,
      properties: resolved.properties,
      context: { route: route.id, method: request.method },
      ...(resolved.id === undefined ? {} : { id: resolved.id }),
      ...(Object.keys(resolved.claimed).length === 0 ? {} : { claimed: resolved.claimed }),
    };
    const decided = await ask(request, question);
    if (await parts.endByDecision(request.record, decided.obligations, inbound.correlationId)) {
      await recordDenial(request, question, decided);
      throw new Problem("unauthenticated", { members: { decision_id: decided.decisionId } });
    }
    const lacksSignIn = decided.obligations.some(({ type }) => type === "step-up") && !isFreshlyStrong(request.asker, parts.now());
    if (decided.decision && canMeet(decided) && !lacksSignIn) return { body };
    await recordDenial(request, question, decided);
    if (decided.decision && canMeet(decided))
      throw refusalOf({ ...decided, decision: false, reason: "step_up_required" }, inbound.origin ?? parts.publicOrigin);
    if (decided.decision)
      throw new Problem("access_denied", { members: { decision_id: decided.decisionId, reason: "obligation_unsupported" } });
    throw refusalOf(decided, inbound.origin ?? parts.publicOrigin);
  };
};
