import { join } from "node:path";
import { createIssuer } from "#authn/issuer/issuer.ts";
import { webClientOf } from "#authn/client-secret.ts";
import type { Fetch } from "#authn/issuer-keys.ts";
import { CLI_CLIENT } from "#authn/issuer/clients.ts";
import { createCrud } from "#crud/service.ts";
import { statement } from "#store/database.ts";
import { seedDemo } from "#demo/world.ts";
import { createPeopleDirectory } from "#demo/people-directory.ts";
import { demoSignIns } from "#demo/sign-ins.ts";
import type { GatewayService } from "#gateway/service.ts";
import { listenService } from "#http/listen.ts";
import type { Service } from "#http/service.ts";
import { releaseAbandoned } from "#membership/meter/abandoned.ts";
import { createMembership } from "#membership/service.ts";
import { createDecider, type Decider } from "#pdp/decide.ts";
import { createPdp } from "#pdp/service.ts";
import { resourceRefOf } from "#secrets/config.ts";
import { demoAllowedMounts, readDemoSecret, seedDemoSecret } from "#secrets/demo-secret.ts";
import { createYamlProvider } from "#secrets/providers/yaml/yaml-provider.ts";
import { createSecrets } from "#secrets/service.ts";
import type { Log } from "#telemetry/log.ts";
import type { Metrics } from "#telemetry/metrics.ts";
import type { Tracing } from "#telemetry/tracing.ts";
import type { CommandLine } from "./command-line.ts";
import type { HouseAddresses } from "./house-addresses.ts";
import type { HouseCallers, ServiceKey } from "./house-callers.ts";
import { openGateway } from "./house-gateway.ts";
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

export interface Served {
  readonly servesIssuer: boolean;
  readonly servesPeople: boolean;
  /** Takes up the changed route table, where this process serves the gateway. */
  readonly reloadRoutes?: GatewayService["reload"];
}

const databaseClock = statement<{ now: string }>("house.clock", "select clock_timestamp() as now");
const tenantIds = statement<{ id: string }>("house.tenants", "select id from membership.node where kind = 'Tenant' order by id");

export const openHouseServices = async (parts: HouseServicesParts): Promise<Served> => {
  const { commandLine, settings, store, callers, addresses, log, metrics, tracing, now, say, stack } = parts;
  const { serve, demo } = commandLine;
  const { environment, version, listenHosts: hosts } = settings.house;
  const { database, change, recorder, bus, secrets } = store;
  const { publicOrigin, services: audiences, ports } = addresses;
  const { pdpTimeoutMs } = settings.gateway;
  const { add, peers } = createPeers(addresses, tracing);
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
  const deciderOf = (service: ServiceKey): Decider =>
    createDecider({
      pdp: peers.pdp,
      pdpAudience: audiences.pdp,
      identity: callers.identityFor(service),
      publicOrigin,
      now,
      timeoutMs: pdpTimeoutMs,
    });
  const identityOf = (service: ServiceKey) => ({
    identity: callers.identityFor(service),
    authenticate: callers.authenticateFor(service),
    decider: deciderOf(service),
  });
  const listen = async (key: Exclude<ServiceKey, "gateway">, service: Service): Promise<void> => {
    add(key, service);
    const listening = await listenService(service.fetch, { port: ports[key], hosts });
    stack.defer(() => listening.close());
  };

  const embedded = serve.has("issuer") && settings.authn.oidcIssuer === undefined && environment !== "production";
  const webClient = webClientOf(settings.authn, secrets);
  if (embedded) {
    say("Starting the embedded OpenID provider ...");
    const issuer = stack.use(
      await createIssuer({
        issuerUrl: addresses.issuer,
        environment,
        database,
        secrets,
        web: { ...webClient, publicOrigins: addresses.publicOrigins },
        // Without the demo no person is known there: their password is no secret. A service client's is derived from the house's own.
        signIns: demo ? demoSignIns : { persons: [], agents: [], services: demoSignIns.services },
        audiences: [publicOrigin, `${publicOrigin}/mcp`, audiences.pdp, audiences.crud, audiences.membership, audiences.secrets],
        houseKeys: callers.houseKeys,
        log,
        metrics,
        now,
      }),
    );
    const listening = await issuer.listen({ port: ports.issuer, hosts });
    stack.defer(() => listening.close());
  }

  if (serve.has("membership")) {
    say("Opening the identity graph ...");
    const membership = stack.use(await createMembership({ ...common, ...identityOf("membership"), config: settings.membership }));
    if (demo) await seedDemo({ change, metrics, now });
    await listen("membership", membership);
  }

  if (serve.has("pdp")) {
    say("Loading policies ...");
    const resourceRef = resourceRefOf(settings.secrets);
    const config = {
      ...settings.pdp,
      publicUrl: parts.environment["PDP_PUBLIC_URL"] ? settings.pdp.publicUrl : audiences.pdp,
      configFile: parts.environment["PDP_CONFIG_FILE"] ? settings.pdp.configFile : join(parts.configFolder, "pdp.yaml"),
    };
    await listen(
      "pdp",
      stack.use(await createPdp({ ...common, ...identityOf("pdp"), config, ...(resourceRef === undefined ? {} : { resourceRef }) })),
    );
  }

  const servesPeople = demo && serve.has("secrets");
  if (serve.has("secrets")) {
    const provider = await createYamlProvider({
      path: settings.secrets.filePath ?? join(parts.dataFolder, "secrets.yaml"),
      environment,
      log,
      now,
    });
    const allowedMounts =
      settings.secrets.allowedMounts ?? (demo && settings.secrets.tenantId === undefined ? demoAllowedMounts : undefined);
    if (demo) await seedDemoSecret(provider);
    await listen(
      "secrets",
      stack.use(
        await createSecrets({
          ...common,
          ...identityOf("secrets"),
          config: { ...settings.secrets, allowedMounts },
          providers: [provider],
          pdpTimeoutMs,
        }),
      ),
    );
    if (servesPeople) {
      // The upstream stands outside the house; it gets its key from the file that both share, never over the wire.
      const people = await createPeopleDirectory({ apiKey: () => readDemoSecret(provider), now, log }).listen({ port: ports.people });
      stack.defer(() => people.close());
    }
  }

  const firstPartyClients =
    settings.authn.firstPartyClients.length > 0
      ? settings.authn.firstPartyClients
      : [webClient.clientId, ...(environment === "production" ? [] : [CLI_CLIENT])];
  if (serve.has("crud")) {
    say("Compiling the tools ...");
    const crud = stack.use(
      await createCrud({
        ...common,
        ...identityOf("crud"),
        config: settings.crud,
        configFolder: parts.configFolder,
        dataFolder: parts.dataFolder,
        placeholders: { DEMO_UPSTREAM_URL: demo ? addresses.people : undefined },
        housePorts: Object.entries(ports).flatMap(([part, port]) => (part === "people" ? [] : [port])),
        tenants: (await database.run(tenantIds)).map(({ id }) => id),
        authorizationServers: [addresses.issuer],
        firstPartyClients,
        houseSecrets: secrets,
      }),
    );
    const [clock] = await database.run(databaseClock);
    await listen("crud", crud);
    const unknown = await crud.recover();
    // Only the embedded database is ours alone; elsewhere another process may be about to begin those calls.
    if (database.kind === "pglite" && clock !== undefined) {
      const released = await releaseAbandoned(database, clock.now);
      if (released > 0) log.warn("reservations_released", { count: released });
    }
    if (unknown > 0) say(`${unknown} acts of a process that died were settled as unknown; the log names them.`);
  }

  if (serve.has("gateway")) {
    say("Opening the gate ...");
    const gateway = await openGateway({ ...parts, common: { ...common, ...identityOf("gateway") }, webClient, firstPartyClients, add });
    return { servesIssuer: embedded, servesPeople, reloadRoutes: () => gateway.reload() };
  }

  return { servesIssuer: embedded, servesPeople };
};
