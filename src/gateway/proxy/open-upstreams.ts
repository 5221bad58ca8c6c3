import type { Peer } from "#contract/ask.ts";
import type { ServiceName } from "#contract/endpoint.ts";
import type { RouteTable } from "#gateway/routes/route-table.ts";
import { createHttpUpstream } from "./http-upstream.ts";
import { peerUpstream, type Upstream } from "./upstream.ts";

export interface Upstreams {
  readonly byName: ReadonlyMap<string, Upstream>;
  /** The same for the gateway's own questions; bodies are read whole. */
  peer(name: string): Peer | undefined;
  /** No new call from now on; resolves when those under way have ended. */
  retire(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

const peerOf =
  (upstream: Upstream): Peer =>
  async (request) => {
    const url = new URL(request.url);
    const body = request.body === null ? undefined : new Uint8Array(await request.arrayBuffer());
    return upstream.send({
      method: request.method,
      path: url.pathname,
      query: url.search,
      headers: request.headers,
      body,
      signal: request.signal,
      isStream: false,
    });
  };

/** The least that a row of the service gives a connection. */
const connectMsOf = (table: RouteTable, name: string): number =>
  Math.min(
    5000,
    ...table.routes
      .filter((route) => route.target.kind === "service" && route.target.service.name === name)
      .map((route) => route.row.timeouts.connect_ms),
  );

/** An upstream for every service of the table: a function where the service lives in this process, HTTP elsewhere. */
export const openUpstreams = async (table: RouteTable, peers: Partial<Record<ServiceName, Peer>>): Promise<Upstreams> => {
  const byName = new Map<string, Upstream>();
  for (const [name, service] of table.services) {
    const peer = service.isHouse ? (peers as Record<string, Peer | undefined>)[name] : undefined;
    byName.set(name, peer === undefined ? await createHttpUpstream(service, connectMsOf(table, name)) : peerUpstream(name, peer));
  }
  const asPeers = new Map([...byName].map(([name, upstream]) => [name, peerOf(upstream)]));
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
