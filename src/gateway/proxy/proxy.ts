import { Problem } from "#contract/problem.ts";
import { discard, type Answer, type HeaderLines } from "#gateway/model/answer.ts";
import { canonicalise } from "#gateway/model/canonical-path.ts";
import type { Inbound } from "#gateway/model/inbound.ts";
import type { GatewayParts } from "#gateway/model/gateway-parts.ts";
import { guardContentType } from "#gateway/model/read-body.ts";
import type { Recognised } from "#gateway/steps/recognise.ts";
import { fillPath } from "#gateway/routes/route-pattern.ts";
import type { Route } from "#gateway/routes/route-table.ts";
import { budgetOf, startClock, timedBody, type Clock } from "./deadline.ts";
import { meterBody, type UpstreamBody } from "./metered-body.ts";
import { clientHeaders } from "./response-headers.ts";
import { hurried } from "./upstream-failures.ts";
import type { Upstream } from "./upstream.ts";
import type { UpstreamAuthorization } from "./upstream-authorization.ts";
import { forwardedHeaders, identityHeaders, originHeaders } from "#gateway/steps/upstream-headers.ts";

/** A request that has passed every step. */
export interface ProxyCall {
  readonly inbound: Inbound;
  readonly route: Route;
  readonly captures: ReadonlyMap<string, string>;
  readonly who: Recognised;
  /** The body, where a step had to read it. */
  readonly body: Uint8Array<ArrayBuffer> | undefined;
}

export interface OpenOptions {
  /** Set in place of the client's own; `undefined` removes. */
  readonly headers?: Readonly<Record<string, string | undefined>>;
  readonly query?: string;
  readonly signal?: AbortSignal;
}

export interface Proxy {
  forward(call: ProxyCall): Promise<Answer>;
  /** The same up to the upstream's answer as it came: for relays that read it. */
  open(call: ProxyCall, more?: OpenOptions): Promise<Answer>;
}

/** The path at the upstream. It is canonicalised again and must come out unchanged: no capture becomes a separator. */
export const upstreamPath = (route: Route, captures: ReadonlyMap<string, string>): string => {
  if (route.target.kind !== "service") throw new TypeError(`${route.id} has no upstream`);
  const path = fillPath(route.target.upstreamPath, captures);
  if (canonicalise(path).path !== path) throw new Problem("ambiguous_target");
  return path;
};

/** As `AbortSignal.any`, which costs more than the rest of the request. */
const abortWith = (stop: AbortController, signal: AbortSignal): void => {
  if (signal.aborted) stop.abort(signal.reason);
  else signal.addEventListener("abort", () => stop.abort(signal.reason), { once: true });
};

export const createProxy = (
  parts: Pick<GatewayParts, "metrics" | "tracing"> & {
    /** By the service's name in the route table. */
    readonly upstreams: ReadonlyMap<string, Upstream>;
    readonly authorization: Pick<UpstreamAuthorization, "authorize">;
  },
): Proxy => {
  const upstreamOf = (route: Route): Upstream => {
    const found = route.target.kind === "service" ? parts.upstreams.get(route.target.service.name) : undefined;
    if (found === undefined) throw new Problem("upstream_unavailable");
    return found;
  };

  const headersFor = async (call: ProxyCall, more: OpenOptions): Promise<HeaderLines> => {
    const { inbound, route, who } = call;
    const headers = forwardedHeaders(inbound, parts.metrics);
    if (more.headers !== undefined)
      for (const [name, value] of Object.entries(more.headers)) {
        if (value === undefined) headers.delete(name);
        else headers.set(name, value);
      }
    originHeaders(inbound, headers);
    identityHeaders(who, headers);
    const traceparent = parts.tracing?.traceparent();
    if (traceparent !== undefined) headers.set("traceparent", traceparent);
    const own = route.row.own_credential ? inbound.headers.get("authorization") : undefined;
    const authorization = own ?? (await parts.authorization.authorize(route, who));
    if (authorization !== undefined) headers.set("authorization", authorization);
    return headers;
  };

  const send = async (call: ProxyCall, more: OpenOptions = {}) => {
    const { inbound, route } = call;
    const started = performance.now();
    guardContentType(inbound, route.row.content_types);
    const upstream = upstreamOf(route);
    const path = upstreamPath(route, call.captures);
    const budget = budgetOf(route, inbound);
    const headers = await headersFor(call, more);
    const stop = new AbortController();
    abortWith(stop, inbound.signal);
    if (more.signal !== undefined) abortWith(stop, more.signal);
    const late = (): void => stop.abort(new Problem("upstream_timeout", budget.isHurried ? { cause: hurried } : {}));
    let clock: Clock | undefined;
    let whole: NodeJS.Timeout | undefined;
    let body: UpstreamBody | undefined;
    try {
      body = await meterBody(inbound.body, route.row.body_limit, call.body, {
        awaiting: () => clock?.pause(),
        arrived: () => clock?.resume(),
      });
      const isPassedOn = body.content instanceof ReadableStream;
      if (isPassedOn && inbound.body?.length !== undefined) headers.set("content-length", String(inbound.body.length));
      clock = startClock(budget.headersMs, late);
      // While the client sends, the first clock stands; the whole has its limit all the same, and it is nobody's fault.
      if (isPassedOn && budget.totalMs !== undefined)
        whole = setTimeout(() => stop.abort(new Problem("upstream_timeout", { cause: hurried })), budget.totalMs);
      const answer = await upstream.send({
        method: inbound.method,
        path,
        query: more.query ?? inbound.target.query,
        headers,
        body: body.content,
        signal: stop.signal,
        deadline: budget.totalMs === undefined ? undefined : started + budget.totalMs,
        isStream: route.row.streaming,
        retry: route.row.retry,
      });
      const failure = body.failure();
      if (failure !== undefined) {
        discard(answer, failure);
        throw failure;
      }
      return {
        answer,
        sentTo: { bases: upstream.bases, path },
        leftMs: budget.totalMs === undefined ? undefined : budget.totalMs - (performance.now() - started),
        budget,
        letGo: () => stop.abort(new Error("the answer is not wanted any more")),
      };
    } catch (error) {
      throw body?.failure() ?? error;
    } finally {
      clock?.stop();
      clearTimeout(whole);
    }
  };

  return {
    open: async (call, more) => (await send(call, more)).answer,
    forward: async (call) => {
      const { answer, sentTo, leftMs, budget, letGo } = await send(call);
      let headers: HeaderLines;
      try {
        headers = clientHeaders(answer, call.route, sentTo);
      } catch (error) {
        discard(answer, error);
        throw error;
      }
      const body = answer.body instanceof ReadableStream ? timedBody(answer.body, { idleMs: budget.idleMs, leftMs, letGo }) : answer.body;
      return { status: answer.status, headers, body };
    },
  };
};
