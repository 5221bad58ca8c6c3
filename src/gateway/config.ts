import { isIP } from "node:net";
import { LRUCache } from "lru-cache";
import { z } from "zod";
import { personScopes } from "#authn/model/scopes.ts";
import { isLoopbackHost } from "#contract/loopback.ts";
import type { Issue } from "#contract/problem.ts";
import { commaList, flag, integer, originList, setting, weakSecret, type SettingsOf, type SettingTable } from "#contract/setting.ts";
import { exampleWeakness } from "#contract/weak-secret.ts";
import { isIn, listOf, networkList, readNetwork } from "#http/addresses.ts";
import { ratesSchema } from "./model/rate-classes.ts";

/** The widest ranges that belong to one owner: 10.0.0.0/8 and fc00::/7. Wider ones, also in halves, trust the internet. */
const WIDEST = { 4: 8, 6: 7 } as const;
/** IPv4 as IPv6 writes it: a range of these is one of IPv4 addresses. */
const MAPPED = { address: "::ffff:0:0", family: 6, bits: 96 } as const;

/** An address, or a range that one owner may have. */
const isOwned = (text: string): boolean => {
  const network = readNetwork(text);
  if (network === undefined || network.bits < WIDEST[network.family]) return false;
  const [wide, narrow] = network.bits <= MAPPED.bits ? [network, MAPPED] : [MAPPED, network];
  const isOfMapped = network.family === 6 && networkList([wide]).check(narrow.address, "ipv6");
  return !isOfMapped || network.bits >= MAPPED.bits + WIDEST[4];
};
const networks = () =>
  commaList().refine((items) => items.every(isOwned), "must be addresses or CIDR ranges of at least /8 (IPv4) or /7 (IPv6)");

const MAX_KNOWN = 1000;

/** Whether an address lies in one of the ranges. */
export const createNetworks = (ranges: readonly string[]): ((address: string) => boolean) => {
  // Asked of every request, and mostly there is none.
  if (ranges.length === 0) return () => false;
  const list = listOf(...ranges);
  // The list makes an object of each address that it is asked about; the same few peers ask again and again.
  const known = new LRUCache<string, boolean>({ max: MAX_KNOWN });
  return (address) => {
    const held = known.get(address);
    if (held !== undefined) return held;
    if (isIP(address) === 0) return false;
    const isInside = isIn(list, address);
    known.set(address, isInside);
    return isInside;
  };
};

/** Settings of the gateway. */
export const gatewaySettings = {
  publicOrigins: setting("PUBLIC_ORIGINS", originList("https://app.example"), {
    description:
      "Origins under which browsers and clients reach the gateway; the first names Sallyport's tokens. Unset: localhost, 127.0.0.1 and [::1] at the gateway's port.",
    default: "",
  }),
  routesFile: setting("ROUTES_FILE", z.string().min(1).optional(), {
    description: "The route table. Unset: routes.yaml in the configuration folder.",
  }),
  webFolder: setting("WEB_DIST_DIR", z.string().min(1).optional(), {
    description: "Folder of the built web client. Unset: web/dist of this installation.",
  }),
  trustedProxies: setting("TRUSTED_PROXIES", networks(), {
    description:
      "Addresses or CIDR ranges of proxies whose forwarding headers count: what they ask at /auth/verify, and for whom they ask. A range wider than /8 (IPv4) or /7 (IPv6) is refused.",
    default: "",
  }),
  metricsAllow: setting("METRICS_ALLOW", networks(), {
    description: "Addresses or CIDR ranges that may read /metrics of any service without a token. Loopback always may.",
    default: "",
  }),
  sessionStore: setting("SESSION_STORE", z.enum(["database", "redis"]), {
    description: "Where browser sessions are kept: in the database, or in the Redis at REDIS_URL that all replicas share.",
    default: "database",
  }),
  sessionIdleSeconds: setting("SESSION_IDLE_S", integer(60, 2_592_000), {
    description: "A session ends when it was not used for so long.",
    unit: "s",
    default: "3600",
  }),
  sessionAbsoluteSeconds: setting("SESSION_ABSOLUTE_S", integer(60, 2_592_000), {
    description: "A session ends so long after its sign-in, used or not.",
    unit: "s",
    default: "28800",
  }),
  refreshAheadSeconds: setting("REFRESH_AHEAD_S", integer(1, 3600), {
    description: "Tokens of a session are refreshed so long before they expire.",
    unit: "s",
    default: "60",
  }),
  sessionBindingNetwork: setting("SESSION_BINDING_NETWORK", z.enum(["on", "off"]), {
    description: "on: a session is ended when it is used from another network (IPv4 /24, IPv6 /48).",
    default: "off",
  }),
  sessionScopes: setting("SESSION_SCOPES", commaList(), {
    description: "Scopes with which a browser session calls Sallyport's services.",
    default: personScopes.join(","),
  }),
  postLogoutPath: setting("OIDC_POST_LOGOUT_PATH", z.string().regex(/^\/[A-Za-z0-9/_-]*$/, "must be a path"), {
    description: "Where the identity provider sends the browser after sign-out.",
    default: "/",
  }),
  uiSecretReveal: setting("UI_SECRET_REVEAL", flag().optional() as z.ZodType<boolean | undefined>, {
    description: "Whether a browser session may read secret values. Unset: only in dev and test.",
  }),
  pdpTimeoutMs: setting("PDP_TIMEOUT_MS", integer(50, 60_000), {
    description: "How long the gateway and each service wait for a decision, its last byte included; then the request is refused.",
    unit: "ms",
    default: "2000",
  }),
  evaluationItems: setting("AUTHZ_BATCH_MAX_ITEMS", integer(1, 1000), {
    description: "Most evaluations in one call of the facade.",
    default: "200",
  }),
  evaluationBodyBytes: setting("AUTHZ_MAX_BODY_BYTES", integer(1024, 2_097_152), {
    description: "Largest body of an evaluation call; a row's own `body_limit` holds where it is smaller.",
    unit: "bytes",
    default: "262144",
  }),
  evaluationDepth: setting("AUTHZ_MAX_DEPTH", integer(4, 64), { description: "Deepest nesting of an evaluation call.", default: "32" }),
  evaluationItemBytes: setting("AUTHZ_MAX_ITEM_BYTES", integer(256, 1_048_576), {
    description: "Most bytes of the properties and the context of one evaluation.",
    unit: "bytes",
    default: "16384",
  }),
  workflowEventsTimeoutSeconds: setting("WORKFLOW_EVENTS_TIMEOUT", integer(1, 86_400), {
    description: "A stream of workflow events ends when its upstream is silent for so long.",
    unit: "s",
    default: "60",
  }),
  configEventsTimeoutSeconds: setting("CONFIG_EVENTS_TIMEOUT", integer(1, 86_400), {
    description: "A stream of configuration or activity events ends when its upstream is silent for so long.",
    unit: "s",
    default: "300",
  }),
  configsStreamTimeoutSeconds: setting("CONFIGS_STREAM_TIMEOUT", integer(1, 86_400), {
    description: "A stream of configurations (/configs/stream) ends when its upstream is silent for so long.",
    unit: "s",
    default: "300",
  }),
  streamsPerSession: setting("STREAMS_PER_SESSION", integer(1, 100), {
    description: "Event streams that one session may hold.",
    default: "3",
  }),
  streamMaxClients: setting("STREAM_MAX_CLIENTS", integer(1, 100_000), {
    description: "Event streams of sessions that one process holds, and again as many streams of rows without a session.",
    default: "5000",
  }),
  rateLimits: setting("RATE_LIMITS", ratesSchema(), {
    description:
      "Other rates than the default ones, e.g. login=30/min,session=50/s:100 (requests a second or minute, after the colon how many at once). Default: login 10/min, anonymous 20/s:100 and ingest 10/s:50 an address; session and bearer 100/s:200 a session or client and subject.",
    default: "",
  }),
  maxInFlight: setting("MAX_IN_FLIGHT", integer(1, 1_000_000), {
    description: "Requests under way at once in one process, open streams not counted; more are answered 503.",
    default: "2000",
  }),
  maxInFlightPerAddress: setting("MAX_IN_FLIGHT_PER_ADDRESS", integer(0, 1_000_000), {
    description:
      "Requests under way at once of one address (IPv6: of one /64), open streams not counted; more are answered 429. Behind a proxy in TRUSTED_PROXIES the address is that of its client. 0: no limit.",
    default: "256",
  }),
  maxConnectionsPerAddress: setting("MAX_CONNECTIONS_PER_ADDRESS", integer(0, 1_000_000), {
    description:
      "Connections that one address (IPv6: one /64) may hold; more are closed as they come. Proxies in TRUSTED_PROXIES hold any number; each of their clients may have as many streams. 0: no limit.",
    default: "1024",
  }),
  shutdownLbWaitMs: setting("SHUTDOWN_LB_WAIT_MS", integer(0, 300_000).optional() as z.ZodType<number | undefined>, {
    description: "How long the gateway serves on after it says that it is not ready. Unset: 0 in dev and test, else 5000.",
    unit: "ms",
  }),
  shutdownDeadlineMs: setting("SHUTDOWN_DEADLINE_MS", integer(0, 300_000), {
    description: "How long answers under way may take when the gateway stops.",
    unit: "ms",
    default: "20000",
  }),
} satisfies SettingTable;

export type GatewayConfig = SettingsOf<typeof gatewaySettings>;

/** What no single row can say. */
export const gatewayIssues = (config: GatewayConfig, environment: "dev" | "test" | "production"): readonly Issue[] => {
  const issues: Issue[] = [];
  if (config.sessionIdleSeconds > config.sessionAbsoluteSeconds)
    issues.push({ path: "SESSION_IDLE_S", message: "must not be longer than SESSION_ABSOLUTE_S" });
  const plain = config.publicOrigins.filter((origin) => origin.startsWith("http:"));
  if (plain.some((origin) => !isLoopbackHost(new URL(origin).host)) && environment === "production")
    issues.push({ path: "PUBLIC_ORIGINS", message: "must be https unless on loopback: cookies are sent over TLS alone" });
  if (plain.length > 0 && plain.length < config.publicOrigins.length)
    issues.push({ path: "PUBLIC_ORIGINS", message: "must all be https, or all http" });
  if (environment === "production" && plain.length > 0 && plain.every((origin) => isLoopbackHost(new URL(origin).host)))
    issues.push({ path: "PUBLIC_ORIGINS", message: "http on loopback alone is for ENVIRONMENT dev and test" });
  if (environment === "production" && config.publicOrigins.length === 0) issues.push({ path: "PUBLIC_ORIGINS", message: "must be set" });
  return issues;
};

/** Whoever can write to Redis, or read along, could make sessions: in production it is reached over TLS and asks for a password. */
export const redisFaults = (
  given: { readonly sessionStore: "database" | "redis"; readonly redisUrl: string | undefined },
  environment: "dev" | "test" | "production",
): readonly Issue[] => {
  if (given.redisUrl === undefined)
    return given.sessionStore === "redis" ? [{ path: "REDIS_URL", message: "must be set with SESSION_STORE=redis" }] : [];
  const url = new URL(given.redisUrl);
  if (environment !== "production" || isLoopbackHost(url.host)) return [];
  const issues: Issue[] = [];
  if (url.protocol !== "rediss:") issues.push({ path: "REDIS_URL", message: "must be rediss:// (TLS) unless on loopback" });
  if (url.password === "") issues.push({ path: "REDIS_URL", message: "must hold a password unless on loopback" });
  else issues.push(...weakSecret("REDIS_URL", decodeURIComponent(url.password), exampleWeakness, environment));
  return issues;
};
