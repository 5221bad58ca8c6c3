import { LRUCache } from "lru-cache";
import { createAuthenticate, type Authenticate } from "#authn/authenticate.ts";
import { createBearerVerifier, createTokenChecker } from "#authn/bearer.ts";
import type { PersonOf } from "#authn/claims.ts";
import { identityMappingOf } from "#authn/config.ts";
import type { HouseIdentity, VerifyBearer } from "#authn/house-identity.ts";
import { createHouseKeyStore } from "#authn/house-key-store.ts";
import { createHouseKeys } from "#authn/house-keys.ts";
import { createIntrospector } from "#authn/introspection.ts";
import { remoteIssuer } from "#authn/issuer-keys.ts";
import { viewPathOf } from "#authn/resource-indicator.ts";
import { createAgentOfClient } from "#membership/graph/agent-of-client.ts";
import { createLivingDelegations } from "#membership/graph/living-delegations.ts";
import { createFindClient } from "#membership/credentials/credentials.ts";
import { createPersonOf } from "#membership/sign-ins/links.ts";
import type { Metrics } from "#telemetry/metrics.ts";
import type { HouseAddresses } from "./addresses.ts";
import type { HouseProvider } from "./provider.ts";
import type { HouseStore } from "./store.ts";
import type { HouseSettings } from "./settings.ts";

export type ServiceKey = keyof HouseAddresses["services"];

const MOST_VIEWS = 100;

export type HouseCallers = ReturnType<typeof createHouseCallers>;

/** Who asks, for every service: keys, verifiers, and how the services speak to one another. */
export const createHouseCallers = (parts: {
  readonly settings: HouseSettings;
  readonly store: HouseStore;
  readonly addresses: HouseAddresses;
  readonly provider: HouseProvider;
  readonly metrics: Metrics;
  readonly now: () => Date;
}) => {
  const { settings, store, addresses, provider, metrics, now } = parts;
  const houseKeys = createHouseKeys({
    store: createHouseKeyStore(store.database),
    secrets: store.secrets,
    issuer: addresses.publicOrigin,
    now,
  });
  const trusted = settings.authn.bearerIssuers.length > 0 ? settings.authn.bearerIssuers : [provider.issuer];
  // What is said of the provider's certificate says nothing of other issuers'.
  const issuers = trusted.map((issuer) => (issuer === provider.issuer ? provider.keys : remoteIssuer({ issuer, metrics })));
  // Only where we are a client ourselves may we ask what a token is.
  const introspector = trusted.includes(provider.issuer)
    ? createIntrospector({ issuer: provider.issuer, ...provider.client, now, metrics, fetch: provider.ask })
    : undefined;
  const findPerson = createPersonOf(store.database, now);
  // Subjects of the embedded issuer are node ids.
  const personOf: PersonOf = async (issuer, subject, tenant) =>
    provider.isEmbedded && issuer === provider.issuer ? undefined : findPerson(issuer, subject, tenant);
  const common = {
    issuers,
    introspector,
    mapping: identityMappingOf(settings.authn),
    houseKeys,
    // Agents are nodes of the graph; every process reads it, whether it serves membership or not.
    agentOfClient: createAgentOfClient(store.database),
    personOf,
    now,
  };
  const lives = createLivingDelegations(store.database);
  const audienceOf = (service: ServiceKey): readonly string[] =>
    service === "gateway" || service === "crud"
      ? (service === "gateway" ? addresses.publicOrigins : [addresses.services.crud]).flatMap((origin) => [origin, `${origin}/mcp`])
      : [addresses.services[service]];
  /** At a view of the tool protocol also tokens for that view alone; what is known of tokens is kept for as many views. */
  const verifyAtViews = (verify: VerifyBearer): VerifyBearer => {
    const verifiers = new LRUCache<string, VerifyBearer>({ max: MOST_VIEWS });
    return (request) => {
      const view = viewPathOf(new URL(request.url).pathname);
      if (view === undefined) return verify(request);
      const audience = [...audienceOf("crud"), `${addresses.services.crud}${view}`];
      const known = verifiers.get(view) ?? createBearerVerifier({ ...common, audience });
      verifiers.set(view, known);
      return known(request);
    };
  };
  const verifierOf = (service: ServiceKey): VerifyBearer => {
    const verify = createBearerVerifier({ ...common, audience: audienceOf(service) });
    return service === "crud" ? verifyAtViews(verify) : verify;
  };
  return {
    houseKeys,
    /** Who a provider's subject is here, as a link says. */
    personOf,
    /** Agents and services whose credentials the house keeps, for every token endpoint. */
    findClient: createFindClient(store.database),
    identityFor: (service: ServiceKey): HouseIdentity => houseKeys.identityFor(service),
    /** Checks tokens that the gateway was sent and that name any of these audiences; each check is counted. */
    verifierForGateway: (audience: readonly string[]): VerifyBearer => createBearerVerifier({ ...common, audience, metrics }),
    authenticateFor: (service: ServiceKey): Authenticate => createAuthenticate({ lives, verify: verifierOf(service) }),
    /** Checks a token that names the public origin; for the token exchange. */
    checkToken: createTokenChecker({ ...common, audience: addresses.publicOrigins, metrics }),
  };
};
