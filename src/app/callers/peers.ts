import type { Peer } from "#contract/ask.ts";
import type { ProblemCode } from "#contract/problem.ts";
import { httpPeer } from "#http/peer.ts";
import type { Send } from "#http/trusting-fetch.ts";
import type { Log } from "#telemetry/log.ts";
import type { Tracing } from "#telemetry/tracing.ts";
import type { Service } from "#http/service.ts";
import type { ServiceAddresses } from "#app/model/addresses.ts";
import type { ServiceKey } from "./callers.ts";

/** What a connection issue of a remote service is called towards its callers. */
const unavailable: Readonly<Record<ServiceKey, ProblemCode>> = {
  gateway: "upstream_unavailable",
  pdp: "pdp_unavailable",
  crud: "upstream_unavailable",
  membership: "membership_unavailable",
  secrets: "secrets_unavailable",
};

const PEER_TIMEOUT_MS = 35_000;

/**
 * One seam: a peer is the service's own `fetch` where it is served here, an HTTP client elsewhere. Services ask one another
 * in circles (the decision point asks membership for facts, membership asks it for decisions), so a peer looks its service
 * up at each call.
 */
export const createPeers = (
  addresses: ServiceAddresses,
  parts: { readonly serve: ReadonlySet<string>; readonly tracing: Tracing; readonly send: Send; readonly log: Log },
) => {
  const { tracing, send, log } = parts;
  const local = new Map<ServiceKey, Service>();
  const peerOf = (key: ServiceKey): Peer => {
    const remote = httpPeer({
      baseUrl: addresses.services[key],
      timeoutMs: PEER_TIMEOUT_MS,
      unavailable: unavailable[key],
      send,
      distrusted: (code) => log.error("peer_certificate_refused", { service: key, address: addresses.services[key], code }),
      traceparent: () => tracing.traceparent(),
    });
    return (request) => (local.get(key)?.fetch ?? remote)(request);
  };
  const peers = {
    gateway: peerOf("gateway"),
    pdp: peerOf("pdp"),
    crud: peerOf("crud"),
    membership: peerOf("membership"),
    secrets: peerOf("secrets"),
  };
  return {
    add: (key: ServiceKey, service: Service): void => void local.set(key, service),
    peers,
    /** Those that this process serves. */
    ownPeers: Object.fromEntries(Object.entries(peers).filter(([key]) => parts.serve.has(key))) as Partial<typeof peers>,
  };
};
