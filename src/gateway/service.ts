import { randomUUID } from "node:crypto";
import type { JSONWebKeySet } from "jose";
import type { HouseIdentity, VerifyBearer } from "#authn/house-identity.ts";
import type { LogoutToken } from "#authn/logout-token.ts";
import type { OidcClient } from "#authn/oidc-client.ts";
import type { HouseSecrets } from "#authn/seal.ts";
import type { Peer } from "#contract/ask.ts";
import type { z } from "zod";
import type { Endpoint, ServiceName } from "#contract/endpoint.ts";
import { health, healthLive, healthReady, healthRedis, ingestMetrics, streamHealth } from "#contract/health.ts";
import { explainRoute, reloadRoutes, type RoutesReloaded } from "#contract/routes.ts";
import { endSession, endSessionsOf, getCsrf, getSession, listSessions, logout } from "#contract/session.ts";
import type { Recorder } from "#events/audit/entry.ts";
import type { Change } from "#events/change.ts";
import type { LiveBus } from "#events/live-bus.ts";
import type { Service } from "#http/service.ts";
import type { Database } from "#store/database.ts";
import type { Redis } from "#store/redis.ts";
import type { Log } from "#telemetry/log.ts";
import type { Metrics } from "#telemetry/metrics.ts";
import type { Tracing } from "#telemetry/tracing.ts";
import type { GatewayConfig } from "./config.ts";
import { createFetchAdapter } from "./fetch-adapter.ts";
import { listenFrontDoor, type Listening } from "./front-door/listener.ts";
import { createPublicOrigins, isLoopbackHost } from "./front-door/public-origins.ts";
import { joinGateway } from "./join/join-gateway.ts";
import { StartFaults } from "#contract/start-faults.ts";

export interface GatewayParts {
  readonly config: GatewayConfig;
  /** Never empty. Where PUBLIC_ORIGINS is unset: localhost, 127.0.0.1 and [::1] at the gateway's port. */
  readonly publicOrigins: readonly string[];
  readonly routesFile: string;
  readonly pdpConfigFile: string;
  /** Folder of the built web client. */
  readonly webFolder: string;
  readonly database: Database;
  /** What replicas share besides the database; sessions lie there with SESSION_STORE=redis. */
  readonly redis?: Redis;
  readonly change: Change;
  readonly recorder: Recorder;
  readonly bus: LiveBus;
  /** Makes a check of bearer tokens for any of these audiences; see `createBearerVerifier`. */
  readonly verifierFor: (audiences: readonly string[]) => VerifyBearer;
  /** The gateway's own: it speaks for persons. */
  readonly identity: HouseIdentity;
  readonly jwks: () => Promise<JSONWebKeySet>;
  readonly oidc: OidcClient;
  /** Checks a logout token of the identity provider; see `createLogoutTokenCheck`. */
  readonly checkLogoutToken: (token: string) => Promise<LogoutToken>;
  /** `POST /oauth/token`; see `createTokenExchange`. */
  readonly tokenExchange: (request: Request) => Promise<Response>;
  readonly firstPartyClients: readonly string[];
  readonly secrets: HouseSecrets;
  /** Services in this process; the others are reached at their address. */
  readonly peers: Partial<Record<ServiceName, Peer>>;
  /** Token audience of each service. */
  readonly audiences: Readonly<Record<ServiceName, string>>;
  /** Address of each service, for those that run elsewhere. */
  readonly serviceUrls: Readonly<Record<Exclude<ServiceName, "gateway">, string>>;
  /** Audiences that count as the house's own; those of its services unless given. */
  readonly houseAudiences?: readonly string[];
  readonly log: Log;
  readonly metrics: Metrics;
  /** Traces; none unless given. */
  readonly tracing?: Tracing;
  readonly now: () => Date;
  readonly environment: "dev" | "test" | "production";
  readonly version: string;
  /** PEM texts; absent = plain HTTP. */
  readonly tls?: { readonly cert: string; readonly key: string };
}

export interface GatewayService extends Service {
  readonly name: "gateway";
  /** Serves behind the raw front door. Port 0 = any free one; all hosts share the one that was found. */
  listen(options: { readonly port: number; readonly hosts: readonly string[] }): Promise<Listening>;
  /** Takes up the changed route table, as an operator's signal asks. Throws `routes_invalid` with every fault; nothing changed then. */
  reload(): Promise<RoutesReloaded>;
  /** From now on not ready; everything is still served. */
  drain(): void;
  /** Streams say good-bye, and no new one begins. */
  endStreams(): void;
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
];

/** Cookies without `Secure` are only for a developer's own machine. */
const guardProfile = (parts: GatewayParts, hosts: readonly string[]): void => {
  const origins = createPublicOrigins(parts.publicOrigins);
  if (!origins.areLoopbackHttp) return;
  const isLocal = hosts.every((host) => isLoopbackHost(host.includes(":") ? `[${host}]` : host));
  if (parts.environment !== "production" && isLocal) return;
  throw new StartFaults([
    { path: "PUBLIC_ORIGINS", message: "http on loopback is for ENVIRONMENT dev and test, with listeners on loopback alone" },
  ]);
};

/**
 * The one door of the house. Throws `StartFaults` with every fault of the route table and the decision point's mappings.
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
    fetch: createFetchAdapter(joined.corridor, origins, joined.clientAddress),
    ready: () => joined.unready(),
    reload: () => joined.reload({ correlationId: randomUUID() }),
    drain: () => joined.drain(),
    endStreams: () => joined.endStreams(),
    listen: async (options) => {
      guardProfile(parts, options.hosts);
      const opened = await listenFrontDoor(
        {
          origins,
          corridor: joined.corridor,
          load: joined.load,
          connections: joined.connections,
          clientAddress: joined.clientAddress,
          ...(parts.tls === undefined ? {} : { tls: parts.tls }),
        },
        options,
      );
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
