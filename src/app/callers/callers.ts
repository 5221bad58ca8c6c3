import { LRUCache } from "lru-cache";
import { createAuthenticate, type Authenticate } from "#authn/callers/authenticate.ts";
import { createBearerVerifier, createTokenChecker } from "#authn/callers/bearer.ts";
import type { PersonOf } from "#authn/model/claims.ts";
import { identityMappingOf } from "#authn/config.ts";
import type { ServiceIdentity, VerifyBearer } from "#authn/keys/service-identity.ts";
import { createServiceKeyStore } from "#authn/keys/service-key-store.ts";
import { createServiceKeys } from "#authn/keys/service-keys.ts";
import { createIntrospector } from "#authn/provider/introspection.ts";
import { remoteIssuer } from "#authn/provider/issuer-keys.ts";
import { viewPathOf } from "#authn/model/resource-indicator.ts";
import { createAgentOfClient } from "#membership/graph/agent-of-client.ts";
import { createHasEnded } from "#membership/graph/ended-persons.ts";
import { createLivingDelegations } from "#membership/graph/living-delegations.ts";
import { createFindClient } from "#membership/credentials/credentials.ts";
import { createPersonOf } from "#membership/sign-ins/links.ts";
import type { Metrics } from "#telemetry/metrics.ts";
import type { ServiceAddresses } from "#app/model/addresses.ts";
import type { ProviderConnection } from "./provider.ts";
import type { OpenedStore } from "#app/store/store.ts";
import type { InstanceSettings } from "#app/model/settings.ts";

export type ServiceKey = keyof ServiceAddresses["services"];

const MAX_VIEWS = 100;

export type ServiceCallers = ReturnType<typeof createServiceCallers>;

/** Who asks, for every service: keys, verifiers, and how the services speak to one another. */
export const createServiceCallers = (parts: {
  readonly settings: InstanceSettings;
  readonly store: OpenedStore;
  readonly addresses: ServiceAddresses;
  readonly provider: ProviderConnection;
  readonly metrics: Metrics;
  readonly now: () => Date;
}) => {
  const { settings, store, addresses, provider, metrics, now } = parts;
  const serviceKeys = createServiceKeys({
    store: createServiceKeyStore(store.database),
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
  const hasEnded = createHasEnded(store.database, now);
  const common = {
    issuers,
    introspector,
    mapping: identityMappingOf(settings.authn),
    serviceKeys,
    // Agents are nodes of the graph; every process reads it, whether it serves membership or not.
    agentOfClient: createAgentOfClient(store.database),
    personOf,
    hasEnded,
    now,
  };
  const lives = createLivingDelegations(store.database);
  const audienceOf = (service: ServiceKey): readonly string[] =>
    service === "gateway" || service === "crud"
      ? (service === "gateway" ? addresses.publicOrigins : [addresses.services.crud]).flatMap((origin) => [origin, `${origin}/mcp`])
      : [addresses.services[service]];
  /** At a view of the tool protocol also tokens for that view alone; what is known of tokens is kept for as many views. */
  const verifyAtViews = (verify: VerifyBearer): VerifyBearer => {
    const verifiers = new LRUCache<string, VerifyBearer>({ max: MAX_VIEWS });
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
    serviceKeys,
    /** Who a provider's subject is here, as a link says. */
    personOf,
    hasEnded,
    /** Agents and services whose credentials Sallyport keeps, for every token endpoint. */
    findClient: createFindClient(store.database),
    identityFor: (service: ServiceKey): ServiceIdentity => serviceKeys.identityFor(service),
    /** Checks tokens that the gateway was sent and that name any of these audiences; each check is counted. */
    verifierForGateway: (audience: readonly string[]): VerifyBearer => createBearerVerifier({ ...common, audience, metrics }),
    authenticateFor: (service: ServiceKey): Authenticate => createAuthenticate({ lives, verify: verifierOf(service) }),
    /** Checks a token that names the public origin; for the token exchange. */
    checkToken: createTokenChecker({ ...common, audience: addresses.publicOrigins, metrics }),
  };
};
