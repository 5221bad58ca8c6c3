import type { BuiltIn, BuiltInHandler } from "./built-in.ts";
import { verdictOf } from "./auth/verdict.ts";
import { clientPageAt } from "./web-client/client-pages.ts";

/** Handlers of the gateway's own paths. */
export interface BuiltInHandlers {
  readonly login: BuiltInHandler;
  readonly callback: BuiltInHandler;
  readonly sessionView: BuiltInHandler;
  readonly csrfView: BuiltInHandler;
  readonly signOut: BuiltInHandler;
  readonly signOutLink: BuiltInHandler;
  readonly backchannelLogout: BuiltInHandler;
  readonly verify: BuiltInHandler;
  readonly token: BuiltInHandler;
  readonly health: Readonly<Record<"overall" | "redis" | "live" | "ready", BuiltInHandler>>;
  readonly exposition: BuiltInHandler;
  readonly ingestion: BuiltInHandler;
  readonly wellKnown: Readonly<Record<"jwks" | "authzen" | "resource" | "mcp", BuiltInHandler>>;
  readonly eventSchema: BuiltInHandler;
  readonly asset: BuiltInHandler;
}

const both = { GET: "anonymous", POST: "anonymous" } as const;

/** What the gateway serves by itself. Below these paths no row of the table may lie. */
export const builtInList = (handlers: BuiltInHandlers): readonly BuiltIn[] => [
  { id: "auth.login", path: "/auth/login", methods: { GET: handlers.login }, rates: { GET: "login" } },
  { id: "auth.callback", path: "/auth/callback", methods: { GET: handlers.callback }, rates: { GET: "anonymous" } },
  { id: "auth.session", path: "/auth/session", methods: { GET: handlers.sessionView }, rates: { GET: "anonymous" } },
  { id: "auth.session", path: "/api/auth/session", methods: { GET: handlers.sessionView }, rates: { GET: "anonymous" } },
  { id: "auth.csrf", path: "/auth/csrf", methods: { GET: handlers.csrfView }, rates: { GET: "anonymous" } },
  { id: "auth.logout", path: "/auth/logout", methods: { GET: handlers.signOutLink, POST: handlers.signOut }, rates: both },
  {
    id: "auth.backchannel_logout",
    path: "/auth/backchannel-logout",
    methods: { POST: handlers.backchannelLogout },
    rates: { POST: "anonymous" },
  },
  { id: "auth.verify", path: "/auth/verify", methods: {}, any: handlers.verify, asProblem: verdictOf, anyHost: true },
  { id: "auth.verify", path: "/auth/forward", methods: {}, any: handlers.verify, asProblem: verdictOf, anyHost: true },
  { id: "oauth.token", path: "/oauth/token", methods: { POST: handlers.token }, rates: both },
  { id: "health", path: "/api/v1/health", methods: { GET: handlers.health.overall }, anyHost: true, isNeverShed: true },
  { id: "health.redis", path: "/api/v1/health/redis", methods: { GET: handlers.health.redis }, anyHost: true, isNeverShed: true },
  { id: "health.live", path: "/api/v1/health/live", methods: { GET: handlers.health.live }, anyHost: true, isNeverShed: true },
  { id: "health.ready", path: "/api/v1/health/ready", methods: { GET: handlers.health.ready }, anyHost: true, isNeverShed: true },
  { id: "metrics", path: "/metrics", methods: { GET: handlers.exposition }, anyHost: true },
  {
    id: "metrics",
    path: "/api/v1/metrics",
    methods: { GET: handlers.exposition, POST: handlers.ingestion },
    rates: { POST: "ingest" },
    anyHost: true,
  },
  { id: "well_known.jwks", path: "/.well-known/sallyport-jwks.json", methods: { GET: handlers.wellKnown.jwks }, rates: both },
  { id: "well_known.authzen", path: "/.well-known/authzen-configuration", methods: { GET: handlers.wellKnown.authzen }, rates: both },
  { id: "well_known.resource", path: "/.well-known/oauth-protected-resource", methods: { GET: handlers.wellKnown.resource }, rates: both },
  { id: "well_known.resource", path: "/.well-known/oauth-protected-resource/mcp", methods: { GET: handlers.wellKnown.mcp }, rates: both },
  {
    id: "well_known.resource",
    path: "/.well-known/oauth-protected-resource/mcp/{view}",
    methods: { GET: handlers.wellKnown.mcp },
    rates: both,
  },
  { id: "events.schema", path: "/api/v1/events/schemas/{type}", methods: { GET: handlers.eventSchema }, rates: both },
  { id: "web.asset", path: "/assets/*", methods: { GET: handlers.asset } },
];

const prefixes = [
  "/auth",
  "/oauth",
  "/assets",
  "/api/v1/events/schemas",
  "/api/v1/health",
  "/api/v1/metrics",
  "/metrics",
  "/.well-known",
  "/api/auth/session",
] as const;

/** True for a path that belongs to the gateway itself, served or not; the web client's pages are its own too. */
export const isBuiltInPath = (path: string): boolean =>
  prefixes.some((prefix) => path === prefix || path.startsWith(`${prefix}/`)) || clientPageAt(path) !== undefined;
