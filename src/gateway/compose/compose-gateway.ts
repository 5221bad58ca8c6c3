import { ask } from "#contract/ask.ts";
import { Problem } from "#contract/problem.ts";
import { crudHealth, uiConfig } from "#contract/tools.ts";
import { createPdpClient } from "#pdp-client/pdp-client.ts";
import { createBackground } from "#gateway/pipeline/background.ts";
import type { BuiltIns } from "#gateway/steps/built-in.ts";
import { createPipeline } from "#gateway/pipeline/pipeline.ts";
import { createCsrfGuard } from "#gateway/steps/csrf.ts";
import { createDecideRoute } from "#gateway/steps/authorize-route.ts";
import type { Steps } from "#gateway/steps/steps.ts";
import { createEndByDecision } from "#gateway/steps/end-by-decision.ts";
import type { RawServerParts } from "#gateway/ingress/raw-server.ts";
import type { PublicOrigins } from "#gateway/model/public-origins.ts";
import type { Upstreams } from "#gateway/proxy/open-upstreams.ts";
import { createProxy } from "#gateway/proxy/proxy.ts";
import { createUpstreamAuthorization } from "#gateway/proxy/upstream-authorization.ts";
import { createRecogniser } from "#gateway/steps/recognise.ts";
import { createExplainRoute } from "#gateway/explain-routes/explain-route.ts";
import { createRevealGuard } from "#gateway/steps/guard-reveal.ts";
import type { Route } from "#gateway/routes/route-table.ts";
import { isInTable } from "#gateway/routes/table-changes.ts";
import { createServeRoute, type ServeRoute } from "#gateway/pipeline/serve-route.ts";
import type { GatewayParts } from "#gateway/model/gateway-parts.ts";
import type { SessionRecord } from "#gateway/sessions/session-store.ts";
import { createSessionKeys } from "#gateway/sessions/session-keys.ts";
import { createStreamRelay } from "#gateway/streams/stream-relay.ts";
import { createBuiltFiles } from "#gateway/web-client/built-files.ts";
import { createWebClient } from "#gateway/web-client/web-client.ts";
import { createCarriedTrace } from "#telemetry/carried-trace.ts";
import { createInternalHandlers } from "./internal-handlers.ts";
import { openLimits } from "./open-limits.ts";
import { openSessions } from "./open-sessions.ts";
import { openStreams } from "./open-streams.ts";
import { createReloadRoutes, type ReloadRoutes } from "#gateway/active-routes/reload-routes.ts";
import { openRoutes, type HeldRoutes } from "#gateway/active-routes/active-routes.ts";
import { createOwnPaths } from "./own-paths.ts";

/** The gateway behind its ingress, joined and running. */
export interface JoinedGateway extends Pick<RawServerParts, "pipeline" | "load" | "connections" | "clientAddress"> {
  readonly reload: ReloadRoutes;
  unready(): Promise<readonly string[]>;
  /** From now on not ready; everything is still served. */
  drain(): void;
  /** Every stream that listens ends, those with words of ours with `bye` `drain`, and no new one begins. */
  endStreams(): void;
  /** Ends what else still streams: answers that had time to finish, and did not. */
  cutStreams(): void;
  [Symbol.asyncDispose](): Promise<void>;
}

/** What serves rows, made once for each set of connections: it keeps what it learns while the services stay the same. */
const perUpstreams = (make: (upstreams: Upstreams) => ServeRoute): ((held: HeldRoutes) => ServeRoute) => {
  const made = new WeakMap<Upstreams, ServeRoute>();
  return ({ upstreams }) => {
    const known = made.get(upstreams) ?? make(upstreams);
    made.set(upstreams, known);
    return known;
  };
};

/** A page waits no longer to know which modules are on. */
const MODULES_MS = 5000;
const SWEEP_MS = 15_000;
const REVOKE_MS = 60_000;

/** Puts the gateway's parts together: the only place where they all meet. A failure half-way closes what was opened. */
export const joinGateway = async (parts: GatewayParts, origins: PublicOrigins): Promise<JoinedGateway> => {
  const { config, tracing = createCarriedTrace() } = parts;
  await using stack = new AsyncDisposableStack();
  let isDraining = false;

  // A faulty table opens nothing.
  const routes = stack.use(await openRoutes(parts, origins));
  const { isTrustedProxy, rate, load, connections, clientAddress, streamsOfAddress } = openLimits(parts);
  const streams = openStreams(parts, streamsOfAddress);
  const { registry, rightChanges } = streams;
  const reload = createReloadRoutes({ ...parts, routes, onRowsGone: () => streams.recheck() });
  const authorization = createUpstreamAuthorization({
    ...parts,
    keys: createSessionKeys(parts.secrets),
    internalAudiences: [
      ...parts.internalAudiences,
      `${parts.audiences.crud}/mcp`,
      ...origins.list.flatMap((origin) => [origin, `${origin}/mcp`]),
    ],
  });
  const opened = stack.use(
    await openSessions(
      parts,
      origins,
      (change) => {
        streams.sessionChanged(change);
        if (change.kind === "ended") authorization.forget(change.ref);
      },
      () => streams.recheck(),
    ),
  );
  const { sessions, cookies, keys } = opened;

  // The steps.
  const csrf = createCsrfGuard({ ...parts, keys });
  const pdpClient = createPdpClient({
    pdp: routes.peerOf("pdp"),
    pdpAudience: parts.audiences.pdp,
    identity: parts.identity,
    publicOrigin: origins.first,
    now: parts.now,
    timeoutMs: config.pdpTimeoutMs,
  });
  const endByDecision = createEndByDecision(sessions);
  const decide = createDecideRoute({ ...parts, pdpClient, endByDecision });
  const firstPartyClients = new Set(parts.firstPartyClients);
  const { sessionScopes } = config;
  const recogniser = createRecogniser({ ...parts, sessions, cookies, origins, sessionScopes, firstPartyClients });
  const reveal = createRevealGuard(config.uiSecretReveal ?? parts.environment !== "production");
  const steps: Steps = { origins, isTrustedProxy, rate, recogniser, csrf, pdpClient, decide, reveal };

  // What stands behind them.
  const crud = routes.peerOf("crud");
  const answersCrud = (signal: AbortSignal) => ask(crud, crudHealth, { signal }).then(() => undefined);
  const webClient = createWebClient({
    ...steps,
    files: createBuiltFiles(parts.webFolder),
    modulesOf: async (principal, correlationId) => {
      const token = await parts.identity.onBehalfOf(parts.audiences.crud, principal);
      const headers = { authorization: `Bearer ${token}`, "x-correlation-id": correlationId };
      return (await ask(crud, uiConfig, { headers, signal: AbortSignal.timeout(MODULES_MS) })).modules;
    },
  });
  const requireLiving = (record: SessionRecord): Promise<number> =>
    sessions.livesUntil(record.sidHash).catch((error: unknown) => {
      throw error instanceof Problem && error.code === "unauthenticated" ? recogniser.unknownSession() : error;
    });
  const explain = createExplainRoute({
    ...steps,
    table: () => routes.table,
    builtIns: () => builtIns,
    webClient,
    sessionScopes,
    firstPartyClients,
  });
  const inside = createInternalHandlers(parts, {
    routes,
    reload,
    explain,
    sessions: opened,
    streams,
    requireLiving,
    pdpClient,
    endByDecision,
    answersCrud,
  });
  const isInForce = (route: Route): boolean => isInTable(routes.table, route);
  const serveRouteOf = perUpstreams((upstreams) => {
    const proxy = createProxy({ ...parts, authorization, upstreams: upstreams.byName });
    const relay = createStreamRelay({
      ...parts,
      proxy,
      registry,
      rightChanges,
      silence: {
        workflow: config.workflowEventsTimeoutSeconds,
        configs: config.configsStreamTimeoutSeconds,
        events: config.configEventsTimeoutSeconds,
      },
    });
    return createServeRoute({ ...steps, tracing, proxy, relay, rawStreams: streams.raw, requireLiving, isInForce, inside });
  });
  const builtIns: BuiltIns = createOwnPaths(parts, { ...steps, routes, sessions: opened, webClient, isDraining: () => isDraining });

  const background = createBackground(parts);
  stack.defer(() => background.stop());
  background.every(SWEEP_MS, "session_sweep", () => sessions.sweep());
  background.every(REVOKE_MS, "revocation", () => opened.revocations.run());

  const kept = stack.move();
  return {
    pipeline: createPipeline({ ...parts, ...steps, tracing, builtIns, holdRoutes: () => routes.hold(), serveRouteOf, webClient, load }),
    reload,
    load,
    connections,
    clientAddress,
    unready: async () => {
      const reasons = isDraining ? ["draining"] : [];
      await opened.store.ready().catch(() => reasons.push("session_store"));
      await parts.redis?.ready().catch(() => reasons.push("redis"));
      return reasons;
    },
    drain: () => {
      isDraining = true;
    },
    endStreams: () => streams.drain(),
    cutStreams: () => streams.cut(),
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
};
