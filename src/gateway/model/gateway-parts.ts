import type { JSONWebKeySet } from "jose";
import type { ServiceIdentity, VerifyBearer } from "#authn/keys/service-identity.ts";
import type { LogoutToken } from "#authn/provider/logout-token.ts";
import type { OidcClient } from "#authn/provider/oidc-client.ts";
import type { ServiceParts } from "#authn/callers/service-parts.ts";
import type { HasEnded } from "#authn/model/claims.ts";
import type { Peer } from "#contract/ask.ts";
import type { ServiceName } from "#contract/endpoint.ts";
import type { Recorder } from "#events/audit/entry.ts";
import type { LiveBus } from "#events/streams/live-bus.ts";
import type { Backlog } from "#events/relay/backlog.ts";
import type { Tls } from "#http/create-server.ts";
import type { Redis } from "#store/redis.ts";
import type { GatewayConfig } from "#gateway/config.ts";

/** What the gateway is made of: its settings, and what Sallyport lends it. */
export interface GatewayParts extends Omit<ServiceParts, "authenticate" | "isScraperListed"> {
  readonly config: GatewayConfig;
  /** Never empty. Where PUBLIC_ORIGINS is unset: localhost, 127.0.0.1 and [::1] at the gateway's port. */
  readonly publicOrigins: readonly string[];
  readonly routesFile: string;
  readonly pdpConfigFile: string;
  /** Folder of the built web client. */
  readonly webFolder: string;
  /** What replicas share besides the database; sessions lie there with SESSION_STORE=redis. */
  readonly redis?: Redis | undefined;
  readonly recorder: Recorder;
  readonly bus: LiveBus;
  /** What waits for Kafka, where one is configured. */
  readonly backlog?: Pick<Backlog, "issues" | "notify"> | undefined;
  /** Makes a check of bearer tokens for any of these audiences; see `createBearerVerifier`. */
  readonly verifierFor: (audiences: readonly string[]) => VerifyBearer;
  readonly hasEnded: HasEnded;
  /** The gateway's own: it speaks for persons. */
  readonly identity: ServiceIdentity;
  readonly jwks: () => Promise<JSONWebKeySet>;
  readonly oidc: OidcClient;
  /** Checks a logout token of the identity provider; see `createLogoutTokenCheck`. */
  readonly checkLogoutToken: (token: string) => Promise<LogoutToken>;
  /** `POST /oauth/token`; see `createTokenExchange`. */
  readonly tokenExchange: (request: Request) => Promise<Response>;
  readonly firstPartyClients: readonly string[];
  /** Services in this process; the others are reached at their address. */
  readonly peers: Partial<Record<ServiceName, Peer>>;
  /** Token audience of each service. */
  readonly audiences: Readonly<Record<ServiceName, string>>;
  /** Address of each service, for those that run elsewhere. */
  readonly serviceUrls: Readonly<Record<Exclude<ServiceName, "gateway">, string>>;
  /** Ids of the actions that a policy schema declares: rows may name them. */
  readonly schemaActions: (text: string) => ReadonlySet<string>;
  /** Audiences that count as Sallyport's own. */
  readonly internalAudiences: readonly string[];
  readonly version: string;
  /** Absent = plain HTTP. */
  readonly tls?: Tls | undefined;
  /** Authorities (PEM texts) of Sallyport's services that run elsewhere; absent: the system's. */
  readonly internalCa?: readonly string[] | undefined;
  /** In place of the times between two rounds of each work in the background. */
  readonly roundsEveryMs?: number;
}
