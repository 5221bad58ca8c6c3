import { randomUUID } from "node:crypto";
import type { z } from "zod";
import type { Endpoint } from "#contract/endpoint.ts";
import { isLoopbackHost } from "#contract/loopback.ts";
import type { Issue } from "#contract/problem.ts";
import { StartIssues } from "#contract/start-issues.ts";
import { health, healthLive, healthReady, healthRedis, ingestMetrics, streamHealth } from "#contract/health.ts";
import { dropOutbox, listOutbox, retryOutbox } from "#contract/outbox.ts";
import { explainRoute, reloadRoutes, type RoutesReloaded } from "#contract/routes.ts";
import { endSession, endSessionsOf, getCsrf, getSession, listSessions, logout } from "#contract/session.ts";
import type { Service } from "#http/service.ts";
import { createFetchAdapter } from "./ingress/fetch-adapter.ts";
import { listenIngress, type Listening } from "./ingress/listener.ts";
import { createPublicOrigins } from "./model/public-origins.ts";
import { joinGateway, type JoinedGateway } from "./compose/compose-gateway.ts";
import type { GatewayParts } from "./model/gateway-parts.ts";

export interface GatewayService extends Service, Pick<JoinedGateway, "drain" | "endStreams"> {
  readonly name: "gateway";
  /** Serves behind the raw ingress. Port 0 = any free one; all hosts share the one that was found. */
  listen(options: { readonly port: number; readonly hosts: readonly string[] }): Promise<Listening>;
  /** Takes up the changed route table, as an operator's signal asks. Throws `routes_invalid` with every fault; nothing changed then. */
  reload(): Promise<RoutesReloaded>;
  /** Endpoints of the contract that this service serves. */
  readonly served: readonly Endpoint<z.ZodType, z.ZodType, z.ZodType, z.ZodType>[];
}

const served = [
  getSession,
  getCsrf,
  logout,
  listSessions,
  endSession,
  endSessionsOf,
  health,
  healthRedis,
  healthLive,
  healthReady,
  ingestMetrics,
  streamHealth,
  explainRoute,
  reloadRoutes,
  listOutbox,
  retryOutbox,
  dropOutbox,
];

/** Cookies without `Secure` are only for a developer's own machine: what is wrong with these origins and these listeners. */
export const profileIssues = (parts: Pick<GatewayParts, "publicOrigins" | "environment">, hosts: readonly string[]): readonly Issue[] => {
  const origins = createPublicOrigins(parts.publicOrigins);
  if (!origins.areLoopbackHttp) return [];
  const isLocal = hosts.every((host) => isLoopbackHost(host.includes(":") ? `[${host}]` : host));
  if (parts.environment !== "production" && isLocal) return [];
  return [{ path: "PUBLIC_ORIGINS", message: "http on loopback is for ENVIRONMENT dev and test, with listeners on loopback alone" }];
};

const guardProfile = (parts: GatewayParts, hosts: readonly string[]): void => {
  const issues = profileIssues(parts, hosts);
  if (issues.length > 0) throw new StartIssues(issues);
};

/**
 * The gateway. Throws `StartIssues` with every fault of the route table and the decision point's mappings.
 * Closing it: not ready; a while for load balancers to notice; streams end with `bye` `drain`; no new connections; answers
 * under way finish, or are 503 at the deadline; then it frees what it holds.
 */
export const createGateway = async (parts: GatewayParts): Promise<GatewayService> => {
  guardProfile(parts, []);
  const origins = createPublicOrigins(parts.publicOrigins);
  const joined = await joinGateway(parts, origins);
  const listening: Listening[] = [];
  const lbWaitMs = parts.config.shutdownLbWaitMs ?? (parts.environment === "production" ? 5000 : 0);
  return {
    name: "gateway",
    served,
    fetch: createFetchAdapter(joined.pipeline, origins, joined.clientAddress),
    ready: () => joined.unready(),
    reload: () => joined.reload({ correlationId: randomUUID() }),
    drain: () => joined.drain(),
    endStreams: () => joined.endStreams(),
    listen: async (options) => {
      guardProfile(parts, options.hosts);
      const opened = await listenIngress({ ...joined, origins, tls: parts.tls }, options);
      listening.push(opened);
      return opened;
    },
    [Symbol.asyncDispose]: async () => {
      joined.drain();
      if (listening.length > 0) await new Promise((resolve) => setTimeout(resolve, lbWaitMs));
      joined.endStreams();
      const late = setTimeout(() => joined.cutStreams(), parts.config.shutdownDeadlineMs);
      await Promise.all(listening.map((one) => one.close(parts.config.shutdownDeadlineMs)));
      clearTimeout(late);
      await joined[Symbol.asyncDispose]();
    },
  };
};
