import type { Peer } from "#contract/ask.ts";
import { Problem } from "#contract/problem.ts";
import { createBreaker } from "#http/breaker.ts";
import { HeaderLines, toResponse, type Answer } from "#gateway/model/answer.ts";
import type { GatewayParts } from "#gateway/model/gateway-parts.ts";
import { internalService, type RouteService } from "#gateway/routes/route-service.ts";
import type { RouteTable } from "#gateway/routes/route-table.ts";
import type { Metrics } from "#telemetry/metrics.ts";
import type { Tracing } from "#telemetry/tracing.ts";
import { createHttpUpstream } from "./http-upstream.ts";
import { isGatewayStatus, isUpstreamError } from "./upstream-failures.ts";
import { peerUpstream, type Upstream } from "./upstream.ts";

export interface Upstreams {
  readonly byName: ReadonlyMap<string, Upstream>;
  /** The same for the gateway's own questions; bodies are read whole. */
  peer(name: string): Peer | undefined;
  /** No new call from now on; resolves when those under way have ended. */
  retire(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

export type UpstreamsParts = Pick<GatewayParts, "peers" | "serviceUrls" | "internalCa" | "metrics" | "tracing">;

const peerOf =
  (upstream: Upstream, retry: "safe" | "idempotent", tracing: Tracing | undefined): Peer =>
  async (request) => {
    const traceparent = tracing?.traceparent();
    if (traceparent !== undefined) request.headers.set("traceparent", traceparent);
    const url = new URL(request.url);
    const body = request.body === null ? undefined : new Uint8Array(await request.arrayBuffer());
    const headers = new HeaderLines();
    for (const [name, value] of request.headers) headers.append(name, value);
    const answer = await upstream.send({
      method: request.method,
      path: url.pathname,
      query: url.search,
      headers,
      body,
      signal: request.signal,
      isStream: false,
      retry,
    });
    return toResponse(answer);
  };

/** The least that a row of the service gives a connection. */
const connectMsOf = (table: RouteTable, name: string): number =>
  Math.min(
    5000,
    ...table.routes
      .filter((route) => route.target.kind === "service" && route.target.service.name === name)
      .map((route) => route.row.timeouts.connect_ms),
  );

/** An upstream that is not asked while it does not answer. */
const breaking = (upstream: Upstream, service: RouteService, metrics: Metrics): Upstream => {
  const breaker = createBreaker({
    name: service.name,
    metrics,
    // A service of Sallyport takes as long as what one tenant asks of it: that says nothing to the others.
    isFailure: (error) => isUpstreamError(error) && !(service.isInternal && (error as Problem).code === "upstream_timeout"),
    refuse: () => new Problem("upstream_unavailable", { detail: "It rests after failures.", headers: { "retry-after": "5" } }),
    isFailedAnswer: service.isInternal ? undefined : (answer) => isGatewayStatus((answer as Answer).status),
  });
  return { ...upstream, send: (call) => breaker.run(() => upstream.send(call)) };
};

/** An upstream for every service of the table: a function where the service lives in this process, HTTP elsewhere. */
export const openUpstreams = async (table: RouteTable, parts: UpstreamsParts): Promise<Upstreams> => {
  const services = new Map(table.services);
  for (const name of ["pdp", "crud"] as const) if (!services.has(name)) services.set(name, internalService(name, parts.serviceUrls[name]));
  const byName = new Map<string, Upstream>();
  for (const [name, service] of services) {
    const peer = service.isInternal ? (parts.peers as Record<string, Peer | undefined>)[name] : undefined;
    const opened =
      peer === undefined ? await createHttpUpstream(service, connectMsOf(table, name), parts.internalCa) : peerUpstream(name, peer);
    byName.set(name, breaking(opened, service, parts.metrics));
  }
  // A question to the decision point changes nothing but its records: it may be asked twice.
  const asPeers = new Map(
    [...byName].map(([name, upstream]) => [name, peerOf(upstream, name === "pdp" ? "idempotent" : "safe", parts.tracing)]),
  );
  return {
    byName,
    peer: (name) => asPeers.get(name),
    retire: async () => {
      await Promise.all([...byName.values()].map((upstream) => upstream.retire()));
    },
    [Symbol.asyncDispose]: async () => {
      await Promise.all([...byName.values()].map((upstream) => upstream[Symbol.asyncDispose]()));
    },
  };
};
