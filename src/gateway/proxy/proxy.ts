import type { HouseIdentity } from "#authn/house-identity.ts";
import { Problem } from "#contract/problem.ts";
import type { Metrics } from "#telemetry/metrics.ts";
import type { Tracing } from "#telemetry/tracing.ts";
import { canonicalise } from "#gateway/canonical-path.ts";
import type { Inbound } from "#gateway/front-door/inbound.ts";
import { guardContentType } from "#gateway/read-body.ts";
import type { Recognised } from "#gateway/recognise.ts";
import { fillPath } from "#gateway/routes/route-pattern.ts";
import type { Route } from "#gateway/routes/route-table.ts";
import { budgetOf, timedBody } from "./deadline.ts";
import { mintAuthorization } from "./house-token.ts";
import { meterBody } from "./metered-body.ts";
import { clientHeaders } from "./response-headers.ts";
import type { Upstream } from "./upstream.ts";
import { forwardedHeaders, identityHeaders, originHeaders } from "./upstream-headers.ts";

export interface ProxyParts {
  /** By the service's name in the route table. */
  readonly upstreams: ReadonlyMap<string, Upstream>;
  readonly identity: HouseIdentity;
  readonly metrics: Metrics;
  readonly tracing?: Tracing;
}

/** A request that has passed every door. */
export interface ProxyCall {
  readonly inbound: Inbound;
  readonly route: Route;
  readonly captures: ReadonlyMap<string, string>;
  readonly who: Recognised;
  /** The body, where a door had to read it. */
  readonly body: Uint8Array | undefined;
}

export interface OpenOptions {
  /** Set in place of the client's own; `undefined` removes. */
  readonly headers?: Readonly<Record<string, string | undefined>>;
  readonly query?: string;
  readonly signal?: AbortSignal;
}

export interface Proxy {
  forward(call: ProxyCall): Promise<Response>;
  /** The same up to the upstream's answer as it came: for relays that read it. */
  open(call: ProxyCall, more?: OpenOptions): Promise<Response>;
}

/** The path at the upstream. It is canonicalised again and must come out unchanged: no capture becomes a separator. */
export const upstreamPath = (route: Route, captures: ReadonlyMap<string, string>): string => {
  if (route.target.kind !== "service") throw new TypeError(`${route.id} has no upstream`);
  const path = fillPath(route.target.upstreamPath, captures);
  if (canonicalise(path).path !== path) throw new Problem("ambiguous_target");
  return path;
};

/** Which time ran out, or that the client left: told from the upstream's own failure. */
const timeout = (): Problem => new Problem("upstream_timeout");

export const createProxy = (parts: ProxyParts): Proxy => {
  const upstreamOf = (route: Route): Upstream => {
    const found = route.target.kind === "service" ? parts.upstreams.get(route.target.service.name) : undefined;
    if (found === undefined) throw new Problem("upstream_unavailable");
    return found;
  };

  const send = async (call: ProxyCall, more: OpenOptions = {}) => {
    const { inbound, route, who } = call;
    const started = performance.now();
    guardContentType(inbound, route.row.content_types);
    const upstream = upstreamOf(route);
    const path = upstreamPath(route, call.captures);
    const budget = budgetOf(route, inbound);
    const headers = forwardedHeaders(inbound, parts.metrics);
    for (const [name, value] of Object.entries({ ...more.headers, ...originHeaders(inbound), ...identityHeaders(who) })) {
      if (value === undefined) headers.delete(name);
      else headers.set(name, value);
    }
    if (budget.totalMs !== undefined) headers.set("x-deadline-ms", String(Math.max(1, Math.floor(budget.totalMs))));
    const traceparent = parts.tracing?.traceparent();
    if (traceparent !== undefined) headers.set("traceparent", traceparent);
    const authorization = await mintAuthorization(parts.identity, route, who);
    if (authorization !== undefined) headers.set("authorization", authorization);
    const body = await meterBody(inbound.body, route.row.body_limit, call.body);
    const stop = new AbortController();
    const signal = AbortSignal.any([inbound.signal, stop.signal, ...(more.signal === undefined ? [] : [more.signal])]);
    const clock = setTimeout(() => stop.abort(timeout()), budget.headersMs);
    try {
      const sent = upstream.send({
        method: inbound.method,
        path,
        query: more.query ?? inbound.target.query,
        headers,
        body: body.content,
        signal,
        isStream: route.row.streaming,
      });
      const response = await withSignal(sent, signal);
      const failure = body.failure();
      if (failure !== undefined) {
        void response.body?.cancel(failure).catch(() => {});
        throw failure;
      }
      return {
        response,
        sentTo: new URL(path, upstream.url),
        leftMs: budget.totalMs === undefined ? undefined : budget.totalMs - (performance.now() - started),
        budget,
      };
    } catch (error) {
      throw body.failure() ?? (stop.signal.aborted ? timeout() : error);
    } finally {
      clearTimeout(clock);
    }
  };

  return {
    open: async (call, more) => (await send(call, more)).response,
    forward: async (call) => {
      const { response, sentTo, leftMs, budget } = await send(call);
      const headers = clientHeaders(response, call.route, sentTo);
      if (response.status < 200 || response.status > 599) throw new Problem("upstream_bad_response");
      const body = response.body === null ? null : timedBody(response.body, { idleMs: budget.idleMs, leftMs });
      return new Response(body, { status: response.status, headers });
    },
  };
};

/** A function of this process may not listen to the signal: whoever waits for it still goes on in time. */
const withSignal = (sent: Promise<Response>, signal: AbortSignal): Promise<Response> =>
  new Promise((resolve, reject) => {
    const abort = (): void => {
      reject(signal.reason as Error);
      sent.then((late) => void late.body?.cancel().catch(() => {})).catch(() => {});
    };
    if (signal.aborted) {
      abort();
      return;
    }
    signal.addEventListener("abort", abort, { once: true });
    sent.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  });
