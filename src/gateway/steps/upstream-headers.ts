import type { Metrics } from "#telemetry/metrics.ts";
import { HeaderLines, type AnswerHeaders } from "#gateway/model/answer.ts";
import { isForwardingName, plainName } from "#http/forwarding-names.ts";
import type { Inbound } from "#gateway/model/inbound.ts";
import type { Recognised } from "#gateway/steps/recognise.ts";

/** Names that say who somebody is: only the gateway says that. */
const identityPrefixes = [
  "x-user",
  "x-session",
  "x-tenant",
  "x-agent",
  "x-auth",
  "x-original",
  "x-remote",
  "remote-",
  "x-sallyport",
  // what servers that end TLS or signed somebody in before us would say of them
  "client-cert",
  "x-client-cert",
  "x-client-verify",
  "ssl-client",
  "x-ssl-client",
  "x-webauth",
  "x-ms-client-principal",
  "x-goog-authenticated",
  "x-goog-iap",
  "x-amzn-oidc",
  "cf-access",
] as const;

/** Names that change what a request means, besides those that tell of one (`isForwardingName`). */
const strippedPrefixes = ["x-csrf", "proxy-", "x-accel-", "x-sendfile", "x-middleware-"] as const;

const strippedNames: ReadonlySet<string> = new Set([
  "cookie",
  "authorization",
  "expect",
  "upgrade",
  "http2-settings",
  "host",
  "content-length",
  // hop by hop
  "connection",
  "keep-alive",
  "te",
  "trailer",
  "transfer-encoding",
  // set by us
  "x-correlation-id",
  "x-deadline-ms",
  "x-plugin-id",
  // a stranger's trace is no part of ours
  "traceparent",
  "tracestate",
  "baggage",
]);

const NAME = /^[A-Za-z0-9-]+$/;

type Fate = "passed" | "removed" | "identity";

const judge = (name: string): Fate => {
  const plain = plainName(name);
  if (identityPrefixes.some((prefix) => plain.startsWith(prefix))) return "identity";
  const isRemoved =
    !NAME.test(name) || isForwardingName(plain) || strippedNames.has(plain) || strippedPrefixes.some((prefix) => plain.startsWith(prefix));
  return isRemoved ? "removed" : "passed";
};

/** Clients use few names; what a stranger makes up is judged anew each time once this is full. */
const MAX_JUDGED = 500;
const judged = new Map<string, Fate>();

const fateOf = (name: string): Fate => {
  const known = judged.get(name);
  if (known !== undefined) return known;
  const fate = judge(name);
  if (judged.size < MAX_JUDGED) judged.set(name, fate);
  return fate;
};

/** What the upstream may see of the client's own headers. Names that carry identity are removed, and counted. */
export const forwardedHeaders = (inbound: Inbound, metrics: Metrics): HeaderLines => {
  const headers = new HeaderLines();
  let hadIdentity = false;
  for (const [name, value] of inbound.headers.pairs) {
    const fate = fateOf(name);
    if (fate === "passed") headers.append(name, value);
    else if (fate === "identity") hadIdentity = true;
  }
  if (hadIdentity) metrics.count("bff_security_events_total", { event_type: "identity_header_stripped", severity: "warning" });
  return headers;
};

/** Who asks, for upstreams that do not read our token; internal services take identity from the token alone. */
export const identityHeaders = (who: Recognised, headers: AnswerHeaders): void => {
  if (who.kind === "none") return;
  headers.set("x-user-id", who.principal.sub);
  headers.set("x-tenant-id", who.principal.tenant);
  if (who.principal.agent !== undefined) headers.set("x-agent-id", who.principal.agent);
};

/** The scheme is that of the public origin: where a server before us ends TLS, our own connection does not know it. */
const isSecurelyAddressed = ({ origin, isSecure }: Inbound): boolean => isSecure || origin?.startsWith("https:") === true;

/** Where the request came from, as the gateway saw it. */
export const originHeaders = (inbound: Inbound, headers: HeaderLines): void => {
  headers.set("x-forwarded-for", inbound.clientAddress);
  headers.set("x-forwarded-proto", isSecurelyAddressed(inbound) ? "https" : "http");
  headers.set("x-forwarded-host", inbound.host);
  headers.set("x-correlation-id", inbound.correlationId);
};
