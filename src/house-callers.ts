import { createAuthenticate, type Authenticate } from "#authn/authenticate.ts";
import { createBearerVerifier, createTokenChecker } from "#authn/bearer.ts";
import type { Caller } from "#authn/caller.ts";
import { webClientOf } from "#authn/client-secret.ts";
import { identityMappingOf } from "#authn/config.ts";
import type { HouseIdentity, VerifyBearer } from "#authn/house-identity.ts";
import { createHouseKeyStore } from "#authn/house-key-store.ts";
import { createHouseKeys, type HouseKeys } from "#authn/house-keys.ts";
import { createIntrospector } from "#authn/introspection.ts";
import { remoteIssuer, type Fetch } from "#authn/issuer-keys.ts";
import { createAgentOfClient } from "#membership/graph/agent-of-client.ts";
import type { Metrics } from "#telemetry/metrics.ts";
import type { HouseAddresses } from "./house-addresses.ts";
import type { HouseStore } from "./house-store.ts";
import type { HouseSettings } from "./settings.ts";

export type ServiceKey = keyof HouseAddresses["services"];

/** Who asks, for every service: keys, verifiers, and how the services speak to one another. */
export interface HouseCallers {
  readonly houseKeys: HouseKeys;
  identityFor(service: ServiceKey): HouseIdentity;
  /** Checks tokens that the gateway was sent and that name any of these audiences; each check is counted. */
  verifierForGateway(audiences: readonly string[]): VerifyBearer;
  authenticateFor(service: ServiceKey): Authenticate;
  /** Checks a token that names the public origin; for the token exchange. */
  readonly checkToken: (token: string) => Promise<Caller>;
}

export const createHouseCallers = (parts: {
  readonly settings: HouseSettings;
  readonly store: HouseStore;
  readonly addresses: HouseAddresses;
  /** How the OpenID provider is reached. */
  readonly askIssuer: Fetch;
  readonly metrics: Metrics;
  readonly now: () => Date;
}): HouseCallers => {
  const { settings, store, addresses, askIssuer, metrics, now } = parts;
  const houseKeys = createHouseKeys({
    store: createHouseKeyStore(store.database),
    secrets: store.secrets,
    issuer: addresses.publicOrigin,
    now,
  });
  const trusted = settings.authn.bearerIssuers.length > 0 ? settings.authn.bearerIssuers : [addresses.issuer];
  // What is said of the provider's certificate says nothing of other issuers'.
  const issuers = trusted.map((issuer) => remoteIssuer({ issuer, metrics, ...(issuer === addresses.issuer ? { fetch: askIssuer } : {}) }));
  // Only where we are a client ourselves may we ask what a token is.
  const introspector = trusted.includes(addresses.issuer)
    ? createIntrospector({ issuer: addresses.issuer, ...webClientOf(settings.authn, store.secrets), now, metrics, fetch: askIssuer })
    : undefined;
  const common = {
    issuers,
    ...(introspector === undefined ? {} : { introspector }),
    mapping: identityMappingOf(settings.authn),
    houseKeys,
    // Agents are nodes of the graph; every process reads it, whether it serves membership or not.
    agentOfClient: createAgentOfClient(store.database),
    now,
  };
  const audienceOf = (service: ServiceKey): readonly string[] =>
    service === "gateway" ? addresses.publicOrigins.flatMap((origin) => [origin, `${origin}/mcp`]) : [addresses.services[service]];
  return {
    houseKeys,
    identityFor: (service) => houseKeys.identityFor(service),
    verifierForGateway: (audience) => createBearerVerifier({ ...common, audience, metrics }),
    authenticateFor: (service) => createAuthenticate({ verify: createBearerVerifier({ ...common, audience: audienceOf(service) }) }),
    checkToken: createTokenChecker({ ...common, audience: addresses.publicOrigins, metrics }),
  };
};
