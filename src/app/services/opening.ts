import { demoTenantSalt } from "#demo/secret.ts";
import { CLI_CLIENT } from "#issuer/clients.ts";
import { createNetworks } from "#gateway/config.ts";
import type { ServiceCallers, ServiceKey } from "#app/callers/callers.ts";
import { createPeers } from "#app/callers/peers.ts";
import type { ProviderConnection } from "#app/callers/provider.ts";
import type { OpenedStore } from "#app/store/store.ts";
import { mountReaders, ownMounts, watchMounts } from "#app/start/compare-mounts.ts";
import type { StartPlan } from "#app/start/start-plan.ts";
import { PLATFORM } from "#contract/secret-schemes.ts";
import { listenService } from "#http/listen.ts";
import type { Service } from "#http/service.ts";
import type { ServiceTls } from "#http/tls-files.ts";
import { openTrustingFetch } from "#http/trusting-fetch.ts";
import { createPdpClient } from "#pdp-client/pdp-client.ts";
import type { StartParts } from "#app/model/start-parts.ts";
import { secretOwnerOf } from "#secrets/config.ts";
import { readStores } from "#secrets/providers/kinds/provider-kinds.ts";

export interface ServicesParts extends StartParts {
  readonly plan: StartPlan;
  readonly store: OpenedStore;
  readonly provider: ProviderConnection;
  readonly callers: ServiceCallers;
  readonly tls: ServiceTls;
}

/** What every service is opened with: what they share, a caller each, and the way in. */
export const prepareOpening = (parts: ServicesParts) => {
  const { plan, store, provider, callers, log, metrics, tracing, now, stack } = parts;
  const { settings, addresses, commandLine } = plan;
  const { environment, version, listenHosts: hosts } = settings.instance;
  const { database, change, recorder, bus, secrets } = store;
  const { publicOrigin, services: audiences, ports } = addresses;
  const { own: tls, ca } = parts.tls;
  const { send } = stack.use(openTrustingFetch(ca));
  const { add, peers, ownPeers } = createPeers(addresses, { serve: commandLine.serve, tracing, send, log });
  const listener = { hosts, tls };
  const mounts =
    mountReaders(plan).length === 0 ? undefined : stack.use(watchMounts({ secrets: peers.secrets, own: ownMounts(plan, secrets), log }));
  return {
    ...parts,
    common: {
      database,
      change,
      recorder,
      bus,
      secrets,
      peers,
      audiences,
      publicOrigin,
      log,
      metrics,
      tracing,
      now,
      environment,
      version,
      isScraperListed: createNetworks(settings.gateway.metricsAllow),
      lacks: (): readonly string[] => (mounts?.differ() === true ? ["allowed_mounts"] : []),
    },
    /** As set, and what the demo world adds where nothing is. */
    secretsConfig: {
      ...settings.secrets,
      allowedMounts: plan.allowedMounts,
      tenantSalt: settings.secrets.tenantSalt ?? (commandLine.demo ? demoTenantSalt(secrets[0]) : undefined),
    },
    listener,
    ownPeers,
    firstPartyClients:
      settings.authn.firstPartyClients.length > 0
        ? settings.authn.firstPartyClients
        : [provider.client.clientId, ...(environment === "production" ? [] : [CLI_CLIENT])],
    /** All of this deployment that an access token may name; the first stands for all. */
    everyAudience: [
      publicOrigin,
      `${publicOrigin}/mcp`,
      audiences.pdp,
      audiences.crud,
      `${audiences.crud}/mcp`,
      audiences.membership,
      audiences.secrets,
    ] as const,
    add,
    /** Who a service is towards the others, whom it lets in, and whom it asks for decisions. */
    callerOf: (service: ServiceKey) => {
      const identity = callers.identityFor(service);
      return {
        identity,
        authenticate: callers.authenticateFor(service),
        pdpClient: createPdpClient({
          pdp: peers.pdp,
          pdpAudience: audiences.pdp,
          identity,
          publicOrigin,
          now,
          timeoutMs: settings.gateway.pdpTimeoutMs,
        }),
      };
    },
    /** Known to its peers and on its port, until Sallyport ends. */
    listen: async (key: Exclude<ServiceKey, "gateway">, service: Service): Promise<void> => {
      add(key, service);
      const listening = await listenService(service.fetch, { port: ports[key], ...listener });
      stack.defer(() => listening.close());
    },
  };
};

export type Opening = ReturnType<typeof prepareOpening>;

/**
 * Whose place a secret URI names, as `TENANT_ALLOWED_MOUNTS` has it. While the secrets service has other mounts every place counts as the
 * platform's, so that no tenant names another's.
 */
export const secretOwnerIn = ({ secretsConfig, common: { environment, lacks }, plan }: Opening): ((uri: string) => string | undefined) => {
  const ownerOf = secretOwnerOf(secretsConfig, environment, readStores(plan.settings, environment).stores);
  return (uri) => (lacks().length > 0 ? PLATFORM : ownerOf(uri));
};
