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
import { createHealth } from "#gateway/inside/health.ts";
import { createHealthChecks, type HealthCheck } from "#gateway/inside/health-checks.ts";
import { createMetricsExposition } from "#gateway/inside/metrics-exposition.ts";
import { requireReadyPdp } from "#gateway/inside/pdp-readiness.ts";
import { createMetricsIngestion } from "#gateway/inside/public-metrics.ts";
import { createTokenEndpoint } from "#gateway/inside/token-endpoint.ts";
import { createWellKnown } from "#gateway/inside/well-known.ts";
import type { RateDoor } from "#gateway/limits/rate-door.ts";
import type { Recogniser } from "#gateway/recognise.ts";
import type { GatewayParts } from "#gateway/service.ts";
import type { WebClient } from "#gateway/web-client/web-client.ts";
import type { OpenedSessions } from "./open-sessions.ts";
import type { RoutesInForce } from "./routes-in-force.ts";

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
  readonly isDraining: () => boolean;
  readonly answersCrud: HealthCheck;
}

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
    requireStore: () => store.ready(),
    isFirstUse: once.isFirstUse,
  };
  const signOut = { ...parts, sessions, recogniser, cookies, csrf, postLogoutPath: config.postLogoutPath };
  const checks = createHealthChecks(
    {
      database: () => parts.database.ready(),
      ...(redis === undefined ? {} : { redis: () => redis.ready() }),
      identity_provider: () => parts.oidc.ready(),
      pdp: (signal) => requireReadyPdp(routes.peerOf("pdp"), signal),
      crud: opened.answersCrud,
    },
    now,
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
      sessionView: createSessionView({ recogniser, csrf, keys }),
      csrfView: createCsrfView({ recogniser, csrf, keys }),
      signOut: createSignOut(signOut),
      signOutLink: createSignOutLink(signOut),
      backchannelLogout: createBackchannelLogout({ check: parts.checkLogoutToken, once, sessions, metrics, log }),
      verify: createVerify(verify),
      token: createTokenEndpoint(parts.tokenExchange),
      health: createHealth({
        checks,
        store,
        ...(redis === undefined ? {} : { redis }),
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
      asset: ({ inbound, captures }) => opened.webClient.asset(captures.get("path") ?? "", inbound),
    }),
  );
};
