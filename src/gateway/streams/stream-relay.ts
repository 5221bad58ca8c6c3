import { Problem } from "#contract/problem.ts";
import { discard, isEventStream, type Answer } from "#gateway/model/answer.ts";
import type { GatewayParts } from "#gateway/model/gateway-parts.ts";
import { personalSseHeaders } from "#gateway/proxy/cache-control.ts";
import { clientHeaders } from "#gateway/proxy/response-headers.ts";
import type { Proxy, ProxyCall } from "#gateway/proxy/proxy.ts";
import { relayBody } from "./relayed-body.ts";
import type { ConfigWatch } from "#events/streams/config-watch.ts";
import { watchRight } from "./right-watch.ts";
import type { StreamRegistry } from "./stream-registry.ts";

/** Seconds without a byte from the upstream. */
export interface SilenceLimits {
  readonly workflow: number;
  readonly configs: number;
  readonly events: number;
}

/** The kind is the upstream's path, whatever the row is called. */
const silenceOf = (call: RelayCall, limits: SilenceLimits): number => {
  const path = call.route.target.kind === "service" ? call.route.target.upstreamPath : "";
  if (path.endsWith("/events/workflow")) return limits.workflow;
  return path.endsWith("/configs/stream") ? limits.configs : limits.events;
};

export interface RelayCall extends ProxyCall {
  readonly who: ProxyCall["who"] & { readonly kind: "session" };
  /** Until when it lives, as `Sessions.livesUntil`. Throws when the session has ended. */
  readonly requireLiving: () => Promise<number>;
  /** Asks that and the decision again; throws as it did at the start. */
  readonly recheck: () => Promise<number>;
}

const LAST_EVENT_ID = /^[\x21-\x7e]{1,256}$/;

const guardAccept = (call: RelayCall): void => {
  const accept = call.inbound.headers.get("accept");
  if (accept === undefined) return;
  const types = accept.split(",").map((item) => item.split(";")[0]?.trim().toLowerCase());
  if (!types.some((type) => type === "text/event-stream" || type === "text/*" || type === "*/*"))
    throw new Problem("not_acceptable", { detail: "This is an event stream: accept text/event-stream." });
};

/** The resume point: the header wins over `?last_event_id=`, which goes no further. */
const parseResume = (call: RelayCall): { readonly id: string | undefined; readonly query: string } => {
  const search = new URLSearchParams(call.inbound.target.query);
  const asked = search.getAll("last_event_id");
  if (asked.length > 1) throw new Problem("ambiguous_query", { errors: [{ path: "query.last_event_id", message: "is given twice" }] });
  search.delete("last_event_id");
  const header = call.inbound.headers.get("last-event-id");
  const id = header === undefined || header === "" ? asked[0] : header;
  if (id !== undefined && id !== "" && !LAST_EVENT_ID.test(id))
    throw new Problem("invalid_request", {
      errors: [{ path: "header.last-event-id", message: "must be at most 256 printable characters" }],
    });
  const rest = search.toString();
  return { id: id === "" ? undefined : id, query: asked.length === 0 ? call.inbound.target.query : rest === "" ? "" : `?${rest}` };
};

/** In the clear: nothing else can be read frame by frame. */
const isReadable = (answer: Answer): boolean =>
  answer.status === 200 && isEventStream(answer) && (answer.headers.get("content-encoding") ?? "identity").toLowerCase() === "identity";

/** An upstream that said all it had with its head. */
const streamOf = (bytes: Uint8Array): ReadableStream<Uint8Array> =>
  new ReadableStream({
    start: (controller) => {
      controller.enqueue(bytes);
      controller.close();
    },
  });

/**
 * Relays one event stream of the upstream to one session. The upstream replays from the resume point. The stream ends with
 * its session, with an access token that cannot be refreshed, with the right to it, and with the process; the right is asked again each
 * minute, when the tenant's graph, policies or delegations move, and when something of the session runs out.
 */
export const createStreamRelay = (
  parts: Pick<GatewayParts, "metrics" | "now"> & {
    readonly proxy: Proxy;
    readonly registry: StreamRegistry;
    readonly rightChanges: ConfigWatch;
    /** How long each kind of stream may be silent. */
    readonly silence: SilenceLimits;
  },
): ((call: RelayCall) => Promise<Answer>) => {
  return async (call) => {
    guardAccept(call);
    const resume = parseResume(call);
    const { record } = call.who;
    const place = parts.registry.claim({ sessionRef: record.ref, clientAddress: call.inbound.clientAddress });
    const stop = new AbortController();
    try {
      // It may have ended while the decision was asked, when there was no place yet to be told at.
      const until = await call.requireLiving();
      const answer = await parts.proxy.open(call, {
        query: resume.query,
        // What is read here must be readable.
        headers: { accept: "text/event-stream", "accept-encoding": "identity", "last-event-id": resume.id },
        signal: stop.signal,
      });
      if (!isReadable(answer) || answer.body === null) {
        place.release();
        if (answer.status < 400) {
          discard(answer);
          throw new Problem("upstream_bad_response");
        }
        const headers = clientHeaders(answer, call.route, { bases: [], path: "" });
        return { status: answer.status, headers, body: answer.body };
      }
      return start({ ...call, until }, place, answer.body instanceof ReadableStream ? answer.body : streamOf(answer.body), stop);
    } catch (error) {
      place.release();
      stop.abort();
      throw error;
    }
  };

  function start(
    call: RelayCall & { readonly until: number },
    place: ReturnType<StreamRegistry["claim"]>,
    upstream: ReadableStream<Uint8Array>,
    stop: AbortController,
  ): Response {
    const { body, stream } = relayBody({
      upstream,
      silenceSeconds: silenceOf(call, parts.silence),
      trustsControl: call.route.target.kind === "service" && call.route.target.service.isInternal,
      now: parts.now,
      onDropped: () => parts.metrics.count("bff_security_events_total", { event_type: "stream_control_dropped", severity: "info" }),
      onClosed: () => {
        watch.stop();
        place.release();
        stop.abort();
      },
    });
    const { until, recheck } = call;
    const watch = watchRight({ ...parts, tenant: call.who.record.tenant, until, recheck, lost: (reason) => stream.bye(reason) });
    place.opened({ bye: (reason) => stream.bye(reason), recheck: watch.soon });
    return new Response(body, { headers: personalSseHeaders });
  }
};
