import type { Fetch } from "#authn/issuer-keys.ts";
import { webClientOf } from "#authn/client-secret.ts";
import { CLI_CLIENT } from "#authn/issuer/clients.ts";
import { listenService } from "#http/listen.ts";
import type { Service } from "#http/service.ts";
import { createDecider } from "#pdp/decide.ts";
import type { Log } from "#telemetry/log.ts";
import type { Metrics } from "#telemetry/metrics.ts";
import type { Tracing } from "#telemetry/tracing.ts";
import type { CommandLine } from "./command-line.ts";
import type { HouseAddresses } from "./house-addresses.ts";
import type { HouseCallers, ServiceKey } from "./house-callers.ts";
import { createPeers } from "./house-peers.ts";
import type { HouseStore } from "./house-store.ts";
import type { HouseSettings } from "./settings.ts";

export interface HouseServicesParts {
  readonly commandLine: CommandLine;
  readonly settings: HouseSettings;
  readonly store: HouseStore;
  readonly callers: HouseCallers;
  readonly addresses: HouseAddresses;
  /** How the OpenID provider is reached. */
  readonly askIssuer: Fetch;
  readonly configFolder: string;
  readonly dataFolder: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly tracing: Tracing;
  readonly now: () => Date;
  readonly say: (line: string) => void;
  readonly stack: AsyncDisposableStack;
}

/** What every service is opened with: what they share, an identity each, and the way in. */
export const prepareOpening = (parts: HouseServicesParts) => {
  const { settings, store, callers, addresses, log, metrics, tracing, now, stack } = parts;
  const { environment, version, listenHosts: hosts } = settings.house;
  const { database, change, recorder, bus, secrets } = store;
  const { publicOrigin, services: audiences, ports } = addresses;
  const { pdpTimeoutMs } = settings.gateway;
  const { add, peers } = createPeers(addresses, tracing);
  const webClient = webClientOf(settings.authn, secrets);
  const common = {
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
  };
  return {
    ...parts,
    common,
    hosts,
    pdpTimeoutMs,
    webClient,
    firstPartyClients:
      settings.authn.firstPartyClients.length > 0
        ? settings.authn.firstPartyClients
        : [webClient.clientId, ...(environment === "production" ? [] : [CLI_CLIENT])],
    /** All of this house that an access token may name; the first stands for all. */
    everyAudience: [publicOrigin, `${publicOrigin}/mcp`, audiences.pdp, audiences.crud, audiences.membership, audiences.secrets] as const,
    add,
    identityOf: (service: ServiceKey) => ({
      identity: callers.identityFor(service),
      authenticate: callers.authenticateFor(service),
      decider: createDecider({
        pdp: peers.pdp,
        pdpAudience: audiences.pdp,
        identity: callers.identityFor(service),
        publicOrigin,
        now,
        timeoutMs: pdpTimeoutMs,
      }),
    }),
    /** Known to its peers and on its port, until the house ends. */
    listen: async (key: Exclude<ServiceKey, "gateway">, service: Service): Promise<void> => {
      add(key, service);
      const listening = await listenService(service.fetch, { port: ports[key], hosts });
      stack.defer(() => listening.close());
    },
  };
};

export type Opening = ReturnType<typeof prepareOpening>;
