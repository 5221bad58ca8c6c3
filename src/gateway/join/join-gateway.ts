import { ask } from "#contract/ask.ts";
import { crudHealth, uiConfig } from "#contract/tools.ts";
import { createBackground } from "#gateway/background.ts";
import { createNetworks } from "#gateway/config.ts";
import { createCorridor } from "#gateway/corridor.ts";
import { createCsrfDoor } from "#gateway/csrf.ts";
import { createDecideRoute } from "#gateway/decide-route.ts";
import { createEndByDecision } from "#gateway/end-by-decision.ts";
import type { Corridor } from "#gateway/front-door/raw-server.ts";
import type { PublicOrigins } from "#gateway/front-door/public-origins.ts";
import { createClientAddress } from "#gateway/limits/client-address.ts";
import { createLoad, type Load } from "#gateway/limits/load.ts";
import { createLocalBuckets } from "#gateway/limits/rate-buckets.ts";
import { createFallbackBuckets, createRedisBuckets } from "#gateway/limits/redis-buckets.ts";
import { createRateDoor } from "#gateway/limits/rate-door.ts";
import { createProxy } from "#gateway/proxy/proxy.ts";
import { createRecogniser } from "#gateway/recognise.ts";
import { createRevealDoor } from "#gateway/reveal-door.ts";
import { createServeRoute } from "#gateway/serve-route.ts";
import type { GatewayParts } from "#gateway/service.ts";
import { createRightChanges } from "#gateway/streams/right-changes.ts";
import { createStreamRegistry } from "#gateway/streams/stream-registry.ts";
import { createStreamRelay } from "#gateway/streams/stream-relay.ts";
import { createBuiltFiles } from "#gateway/web-client/built-files.ts";
import { createWebClient } from "#gateway/web-client/web-client.ts";
import { noTracing } from "#telemetry/tracing.ts";
import { createInsideHandlers } from "./inside-handlers.ts";
import { openSessions } from "./open-sessions.ts";
import { openTable } from "./open-table.ts";
import { createOwnPaths } from "./own-paths.ts";

/** The gateway behind its front door, joined and running. */
export interface JoinedGateway {
  readonly corridor: Corridor;
  readonly load: Load;
  unready(): Promise<readonly string[]>;
  /** From now on not ready. */
  drain(): void;
  /** Every stream ends with `bye` `drain`, and no new one begins. */
  endStreams(): void;
  [Symbol.asyncDispose](): Promise<void>;
}

const SWEEP_MS = 15_000;
const REVOKE_MS = 60_000;

/** Puts the gateway's parts together: the only place where they all meet. A failure half-way closes what was opened. */
export const joinGateway = async (parts: GatewayParts, origins: PublicOrigins): Promise<JoinedGateway> => {
  const { config, log, metrics, now, tracing = noTracing } = parts;
  await using stack = new AsyncDisposableStack();
  let isDraining = false;

  // A faulty table opens nothing.
  const table = await openTable(parts, origins);
  stack.use(table.upstreams);
  const registry = createStreamRegistry({ perSession: config.streamsPerSession, total: config.streamMaxClients });
  const opened = stack.use(await openSessions(parts, origins, (change) => registry.sessionChanged(change)));
  const { sessions, cookies, keys } = opened;

  // The doors.
  const csrf = createCsrfDoor({ keys, metrics, log });
  const decide = createDecideRoute({ ...parts, publicOrigin: origins.first, endByDecision: createEndByDecision(sessions) });
  const recogniser = createRecogniser({
    ...parts,
    sessions,
    cookies,
    origins,
    sessionScopes: config.sessionScopes,
    firstPartyClients: new Set(parts.firstPartyClients),
  });

  const isTrustedProxy = createNetworks(config.trustedProxies);
  const ownBuckets = createLocalBuckets();
  const rate = createRateDoor({
    buckets:
      parts.redis === undefined
        ? ownBuckets
        : createFallbackBuckets(createRedisBuckets(parts.redis), ownBuckets, {
            onLost: (cause) => log.warn("rate_limits_local", { cause }),
          }),
    rates: config.rateLimits,
    clientAddress: createClientAddress(isTrustedProxy),
    metrics,
    log,
  });
  const load = createLoad(config.maxInFlight);

  // What stands behind them.
  const crud = table.peerOf("crud");
  const answersCrud = () => ask(crud, crudHealth).then(() => undefined);
  const proxy = createProxy({ ...parts, upstreams: table.upstreams.byName });
  const relay = createStreamRelay({
    proxy,
    registry,
    rightChanges: createRightChanges({ bus: parts.bus, log }),
    silence: {
      workflow: config.workflowEventsTimeoutSeconds,
      configs: config.configsStreamTimeoutSeconds,
      events: config.configEventsTimeoutSeconds,
    },
    metrics,
    now,
  });
  const webClient = createWebClient({
    files: createBuiltFiles(parts.webFolder),
    recogniser,
    decider: parts.decider,
    modulesOf: async (asker, correlationId) => {
      const token = await parts.identity.onBehalfOf(parts.audiences.crud, asker);
      const headers = { authorization: `Bearer ${token}`, "x-correlation-id": correlationId };
      return (await ask(crud, uiConfig, { headers })).modules;
    },
  });
  const serveRoute = createServeRoute({
    tracing,
    rate,
    recogniser,
    csrf,
    decide,
    reveal: createRevealDoor(config.uiSecretReveal ?? parts.environment !== "production"),
    proxy,
    relay,
    inside: createInsideHandlers(parts, { table, sessions: opened, registry, answersCrud }),
  });
  const builtIns = createOwnPaths(parts, {
    origins,
    table,
    sessions: opened,
    rate,
    isTrustedProxy,
    recogniser,
    csrf,
    decide,
    webClient,
    isDraining: () => isDraining,
    answersCrud,
  });

  const background = createBackground({ metrics, log });
  stack.defer(() => background.stop());
  background.every(SWEEP_MS, "session_sweep", () => sessions.sweep());
  background.every(REVOKE_MS, "revocation", () => opened.revocations.run());

  const kept = stack.move();
  return {
    corridor: createCorridor({ builtIns, table: table.table, serveRoute, webClient, tracing, isTrustedProxy, rate, load, metrics, log }),
    load,
    unready: async () => {
      const reasons = isDraining ? ["draining"] : [];
      await opened.store.ready().catch(() => reasons.push("session_store"));
      return reasons;
    },
    drain: () => {
      isDraining = true;
    },
    endStreams: () => registry.drain(),
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
};
