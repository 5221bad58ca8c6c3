import { ask } from "#contract/ask.ts";
import { metadata } from "#contract/authzen.ts";
import { createBackchannelLogout } from "#gateway/auth/backchannel-logout.ts";
import { createOnce } from "#gateway/auth/once.ts";
import { createCsrfView, createSessionView } from "#gateway/auth/session-view.ts";
import { createCallback, createLogin } from "#gateway/auth/sign-in.ts";
import { createSignOut, createSignOutLink } from "#gateway/auth/sign-out.ts";
import { createTransactions } from "#gateway/auth/transaction.ts";
import { createVerify } from "#gateway/auth/verify.ts";
import { verifyVerdictOf } from "#gateway/auth/verdict.ts";
import { createBuiltIns, type BuiltInHandler, type BuiltIns } from "#gateway/steps/built-in.ts";
import { createNetworks } from "#gateway/config.ts";
import type { Steps } from "#gateway/steps/steps.ts";
import { createHealth } from "#gateway/internal/health.ts";
import { createHealthChecks, requireReady, requireReadyPdp, requireTaken } from "#gateway/internal/health-checks.ts";
import { createMetricsExposition } from "#gateway/internal/metrics-exposition.ts";
import { createMetricsIngestion } from "#gateway/internal/public-metrics.ts";
import { createTokenEndpoint } from "#gateway/internal/token-endpoint.ts";
import { createWellKnown, readSchema } from "#gateway/internal/well-known.ts";
import type { GatewayParts } from "#gateway/model/gateway-parts.ts";
import { sessionAudiences } from "#gateway/routes/route-table.ts";
import type { WebClient } from "#gateway/web-client/web-client.ts";
import type { OpenedSessions } from "./open-sessions.ts";
import type { RoutesInForce } from "#gateway/active-routes/active-routes.ts";

export interface OwnPathsParts extends Steps {
  readonly routes: RoutesInForce;
  readonly sessions: OpenedSessions;
  readonly webClient: WebClient;
  readonly isDraining: () => boolean;
}

/** What health asks of besides services that rows lead to. */
const ownParts: ReadonlySet<string> = new Set(["identity_provider", "pdp", "kafka"]);

const both = { GET: "anonymous", POST: "anonymous" } as const;

/**
 * The gateway's own paths: sign-in and out, health, metrics, public documents, the web client's files. Below them no row of the
 * table may lie (`isBuiltInPath`).
 */
export const createOwnPaths = (parts: GatewayParts, opened: OwnPathsParts): BuiltIns => {
  const { config, now, redis } = parts;
  const { routes, webClient } = opened;
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
  const signOut = { ...parts, ...opened, sessions, cookies, postLogoutPath: config.postLogoutPath };
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
    // What no row leads to is no part of this deployment.
    { keptMs: 3000, now, isAsked: (name) => ownParts.has(name) || routes.table.services.has(name) },
  );
  const health = createHealth({
    stores,
    others,
    hasRedis: redis !== undefined,
    sessionStore: config.sessionStore,
    hearsChanges: opened.sessions.hearsChanges,
    isDraining: opened.isDraining,
    version: parts.version,
    now,
  });
  const wellKnown = createWellKnown({
    ...parts,
    authorizationServers: [parts.oidc.issuer],
    pointMetadata: () => ask(routes.peerOf("pdp"), metadata, { signal: AbortSignal.timeout(config.pdpTimeoutMs) }),
    isRouted: (path) => routes.table.find(path)?.routes.some(({ row }) => row.methods.includes("POST")) === true,
  });
  const sessionView = createSessionView({ ...opened, keys });
  const verify = createVerify({ ...parts, ...opened, table: () => routes.table });
  const exposition = createMetricsExposition({ ...parts, ...opened, isAllowedNetwork: createNetworks(config.metricsAllow) });
  const asset: BuiltInHandler = ({ inbound, captures }) => webClient.asset(captures.get("path") ?? "", inbound);
  return createBuiltIns([
    { id: "auth.login", path: "/auth/login", methods: { GET: createLogin(signIn) }, rates: { GET: "login" } },
    { id: "auth.callback", path: "/auth/callback", methods: { GET: createCallback(signIn) }, rates: { GET: "anonymous" } },
    { id: "auth.session", path: "/auth/session", methods: { GET: sessionView }, rates: { GET: "anonymous" } },
    { id: "auth.session", path: "/api/auth/session", methods: { GET: sessionView }, rates: { GET: "anonymous" } },
    { id: "auth.csrf", path: "/auth/csrf", methods: { GET: createCsrfView({ ...opened, keys }) }, rates: { GET: "anonymous" } },
    { id: "auth.logout", path: "/auth/logout", methods: { GET: createSignOutLink(signOut), POST: createSignOut(signOut) }, rates: both },
    {
      id: "auth.backchannel_logout",
      path: "/auth/backchannel-logout",
      methods: { POST: createBackchannelLogout({ ...parts, once, sessions }) },
      rates: { POST: "anonymous" },
    },
    { id: "auth.verify", path: "/auth/verify", methods: {}, any: verify, asProblem: verifyVerdictOf, anyHost: true },
    { id: "auth.verify", path: "/auth/forward", methods: {}, any: verify, asProblem: verifyVerdictOf, anyHost: true },
    {
      id: "oauth.token",
      path: "/oauth/token",
      methods: { POST: createTokenEndpoint(parts.tokenExchange) },
      rates: both,
      hasOwnCredential: true,
    },
    { id: "health", path: "/api/v1/health", methods: { GET: health.overall }, anyHost: true, isNeverShed: true },
    { id: "health.redis", path: "/api/v1/health/redis", methods: { GET: health.redis }, anyHost: true, isNeverShed: true },
    // The second form is that of every process.
    ...["/api/v1/health", "/health"].flatMap((at) => [
      { id: "health.live", path: `${at}/live`, methods: { GET: health.live }, anyHost: true, isNeverShed: true },
      { id: "health.ready", path: `${at}/ready`, methods: { GET: health.ready }, anyHost: true, isNeverShed: true },
    ]),
    { id: "metrics", path: "/metrics", methods: { GET: exposition }, anyHost: true },
    {
      id: "metrics",
      path: "/api/v1/metrics",
      methods: { GET: exposition, POST: createMetricsIngestion(parts.metrics) },
      rates: { POST: "ingest" },
      anyHost: true,
    },
    { id: "well_known.jwks", path: "/.well-known/sallyport-jwks.json", methods: { GET: wellKnown.jwks }, rates: both },
    { id: "well_known.authzen", path: "/.well-known/authzen-configuration", methods: { GET: wellKnown.authzen }, rates: both },
    { id: "well_known.resource", path: "/.well-known/oauth-protected-resource", methods: { GET: wellKnown.resource }, rates: both },
    { id: "well_known.resource", path: "/.well-known/oauth-protected-resource/mcp", methods: { GET: wellKnown.mcp }, rates: both },
    {
      id: "well_known.resource",
      path: "/.well-known/oauth-protected-resource/mcp/{view}",
      methods: { GET: wellKnown.mcp },
      rates: both,
    },
    { id: "events.schema", path: "/api/v1/events/schemas/{type}", methods: { GET: readSchema }, rates: both },
    { id: "web.asset", path: "/assets/*", methods: { GET: asset } },
  ]);
};
