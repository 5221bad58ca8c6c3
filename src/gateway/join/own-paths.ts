import { ask } from "#contract/ask.ts";
import { metadata } from "#contract/authzen.ts";
import { createBackchannelLogout } from "#gateway/auth/backchannel-logout.ts";
import { createOnce } from "#gateway/auth/once.ts";
import { createCsrfView, createSessionView } from "#gateway/auth/session-view.ts";
import { createCallback, createLogin } from "#gateway/auth/sign-in.ts";
import { createSignOut, createSignOutLink } from "#gateway/auth/sign-out.ts";
import { createTransactions } from "#gateway/auth/transaction.ts";
import { createVerify } from "#gateway/auth/verify.ts";
import { createBuiltIns, type BuiltIns } from "#gateway/built-in.ts";
import { builtInList } from "#gateway/built-in-list.ts";
import { createNetworks } from "#gateway/config.ts";
import type { CsrfDoor } from "#gateway/csrf.ts";
import type { DecideRoute } from "#gateway/decide-route.ts";
import type { PublicOrigins } from "#gateway/front-door/public-origins.ts";
import { readSchema } from "#gateway/inside/event-schema.ts";
import { createHealth } from "#gateway/inside/health.ts";
import { createHealthChecks, requireTaken } from "#gateway/inside/health-checks.ts";
import { createMetricsExposition } from "#gateway/inside/metrics-exposition.ts";
import { requireReady, requireReadyPdp } from "#gateway/inside/service-readiness.ts";
import { createMetricsIngestion } from "#gateway/inside/public-metrics.ts";
import { createTokenEndpoint } from "#gateway/inside/token-endpoint.ts";
import { createWellKnown } from "#gateway/inside/well-known.ts";
import type { RateDoor } from "#gateway/limits/rate-door.ts";
import type { Recogniser } from "#gateway/recognise.ts";
import type { GatewayParts } from "#gateway/gateway-parts.ts";
import { sessionAudiences } from "#gateway/routes/route-table.ts";
import type { WebClient } from "#gateway/web-client/web-client.ts";
import type { OpenedSessions } from "./open-sessions.ts";
import type { RevealDoor } from "#gateway/reveal-door.ts";
import type { RoutesInForce } from "#gateway/routes-in-force/routes-in-force.ts";

export interface OwnPathsParts {
  readonly origins: PublicOrigins;
  readonly routes: RoutesInForce;
  readonly sessions: OpenedSessions;
  readonly rate: RateDoor;
  readonly isTrustedProxy: (address: string) => boolean;
  readonly recogniser: Recogniser;
  readonly csrf: CsrfDoor;
  readonly decide: DecideRoute;
  readonly webClient: WebClient;
  readonly reveal: RevealDoor;
  readonly isDraining: () => boolean;
}

/** What health asks of besides services that rows lead to. */
const ownParts: ReadonlySet<string> = new Set(["identity_provider", "pdp", "kafka"]);

/** The gateway's own paths: sign-in and out, health, metrics, public documents, the web client's files. */
export const createOwnPaths = (parts: GatewayParts, opened: OwnPathsParts): BuiltIns => {
  const { config, metrics, now, log, redis } = parts;
  const { recogniser, csrf, routes } = opened;
  const { sessions, keys, cookies, records, store } = opened.sessions;
  const once = createOnce(parts.database, now);
  const signIn = {
    ...parts,
    sessions,
    records,
    cookies,
    transactions: createTransactions(parts.secrets, now),
    audiences: () => sessionAudiences(routes.table),
    requireStore: () => store.ready(),
    isFirstUse: once.isFirstUse,
  };
  const signOut = { ...parts, sessions, recogniser, cookies, csrf, postLogoutPath: config.postLogoutPath };
  const stores = createHealthChecks(
    { database: () => parts.database.ready(), ...(redis && { redis: () => redis.ready() }) },
    { keptMs: 500, now },
  );
  const others = createHealthChecks(
    {
      identity_provider: () => parts.oidc.ready(),
      pdp: (signal) => requireReadyPdp(routes.peerOf("pdp"), signal),
      crud: (signal) => requireReady(routes.peerOf("crud"), signal),
      membership: (signal) => requireReady(routes.peerOf("membership"), signal),
      secrets: (signal) => requireReady(routes.peerOf("secrets"), signal),
      ...(parts.backlog && { kafka: requireTaken(parts.backlog) }),
    },
    // What no row leads to is no part of this house.
    { keptMs: 3000, now, isAsked: (name) => ownParts.has(name) || routes.table.services.has(name) },
  );
  const verify = {
    table: () => routes.table,
    rate: opened.rate,
    recogniser,
    csrf,
    decide: opened.decide,
    origins: opened.origins,
    isTrustedProxy: opened.isTrustedProxy,
    metrics,
    log,
  };
  return createBuiltIns(
    builtInList({
      login: createLogin(signIn),
      callback: createCallback(signIn),
      sessionView: createSessionView({ recogniser, csrf, keys, reveal: opened.reveal }),
      csrfView: createCsrfView({ recogniser, csrf, keys }),
      signOut: createSignOut(signOut),
      signOutLink: createSignOutLink(signOut),
      backchannelLogout: createBackchannelLogout({ check: parts.checkLogoutToken, once, sessions, metrics, log }),
      verify: createVerify(verify),
      token: createTokenEndpoint(parts.tokenExchange),
      health: createHealth({
        stores,
        others,
        hasRedis: redis !== undefined,
        sessionStore: config.sessionStore,
        hearsChanges: opened.sessions.hearsChanges,
        isDraining: opened.isDraining,
        version: parts.version,
        now,
      }),
      exposition: createMetricsExposition({
        metrics,
        recogniser,
        rate: opened.rate,
        isAllowedNetwork: createNetworks(config.metricsAllow),
      }),
      ingestion: createMetricsIngestion(metrics),
      wellKnown: createWellKnown({
        jwks: parts.jwks,
        authorizationServers: [parts.oidc.issuer],
        pointMetadata: () => ask(routes.peerOf("pdp"), metadata, { signal: AbortSignal.timeout(config.pdpTimeoutMs) }),
        isRouted: (path) => routes.table.find(path)?.routes.some(({ row }) => row.methods.includes("POST")) === true,
        now,
      }),
      eventSchema: readSchema,
      asset: ({ inbound, captures }) => opened.webClient.asset(captures.get("path") ?? "", inbound),
    }),
  );
};
