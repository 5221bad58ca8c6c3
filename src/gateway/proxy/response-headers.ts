import { Problem } from "#contract/problem.ts";
import { HeaderLines, linesOf, type Answer } from "#gateway/model/answer.ts";
import { canonicalise } from "#gateway/model/canonical-path.ts";
import { isBuiltInPath } from "#gateway/steps/built-in-path.ts";
import type { Route } from "#gateway/routes/route-table.ts";
import { isSharedCacheRule, personalCacheControl } from "./cache-control.ts";

const removed: ReadonlySet<string> = new Set([
  "connection",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
  "set-cookie",
  "server",
  "x-powered-by",
  "alt-svc",
  "clear-site-data",
  "service-worker-allowed",
  "strict-transport-security",
  "refresh",
  // what a browser keeps for the whole origin, every other upstream's pages among it
  "set-cookie2",
  "nel",
  "report-to",
  "accept-ch",
  "set-login",
  "origin-agent-cluster",
  "use-as-dictionary",
  "public-key-pins",
  // orders to a server that stands before us
  "x-accel-redirect",
  "x-sendfile",
  "x-user-id",
  "x-tenant-id",
  "x-agent-id",
  "x-plugin-id",
  "x-deadline-ms",
  // the gateway's own on every answer
  "content-security-policy",
  "content-security-policy-report-only",
  "x-content-type-options",
  "cross-origin-resource-policy",
  "referrer-policy",
  "x-correlation-id",
]);

/** Maps a path of the upstream back to the client's path of the same row; `undefined` when the row does not lead there. */
const clientPath = (route: Route, upstreamPath: string): string | undefined => {
  if (route.target.kind !== "service") return undefined;
  const { upstreamPath: template } = route.target;
  if (route.row.preserve_path) return upstreamPath;
  const star = template.endsWith("{path}") ? template.slice(0, -"{path}".length) : undefined;
  if (star === undefined || star.includes("{") || !upstreamPath.startsWith(star) || !route.pattern.text.endsWith("*")) return undefined;
  const front = route.pattern.text.slice(0, -1);
  return front.includes("{") ? undefined : `${front}${upstreamPath.slice(star.length)}`;
};

/** The addresses of an upstream, and the path that was asked for there. */
export interface SentTo {
  readonly bases: readonly URL[];
  readonly path: string;
}

/**
 * Whether a path could be asked for here, and is none of the gateway's own, to which no row leads. Two slashes at its
 * beginning, which would be another site to a browser, have no canonical form.
 */
const isRowPath = (path: string): boolean => {
  try {
    return !isBuiltInPath(canonicalise(path).path);
  } catch {
    return false;
  }
};

/** Which of the upstream's addresses answered is not told: all of them are the same service. */
const mapLocation = (location: string, route: Route, sentTo: SentTo): string => {
  for (const base of sentTo.bases) {
    const prefix = base.pathname.replace(/\/$/, "");
    const asked = new URL(`${base.origin}${prefix}${sentTo.path}`);
    if (!URL.canParse(location, asked)) continue;
    const url = new URL(location, asked);
    if (url.origin !== base.origin || url.username !== "" || url.password !== "" || !url.pathname.startsWith(`${prefix}/`)) continue;
    const path = clientPath(route, url.pathname.slice(prefix.length));
    if (path === undefined || !isRowPath(path)) continue;
    return `${path}${url.search}${url.hash}`;
  }
  throw new Problem("upstream_bad_response", { detail: "The upstream points to another site." });
};

const isRemoved = (name: string): boolean => removed.has(name) || name.startsWith("access-control-") || name.startsWith("x-sallyport-");

/**
 * The answer's headers as the client may see them: nothing of the hop behind, no cookie, no opening of other origins;
 * never kept by a shared cache. `sentTo` is where the request went.
 * Throws `upstream_bad_response` for a Location that leaves the upstream.
 */
export const clientHeaders = (answer: Answer, route: Route, sentTo: SentTo): HeaderLines => {
  const connection = answer.headers.get("connection");
  const named = connection === null ? [] : connection.split(",").map((name) => name.trim().toLowerCase());
  const headers = new HeaderLines();
  const isPersonal = route.row.auth !== "none";
  const lines = linesOf(answer.headers);
  for (let at = 0; at < lines.length; at += 2) {
    const name = lines[at] as string;
    if (isRemoved(name) || named.includes(name) || (isPersonal && isSharedCacheRule(name))) continue;
    headers.append(name, lines[at + 1] as string);
  }
  const location = headers.get("location");
  if (location !== null) headers.set("location", mapLocation(location, route, sentTo));
  if (isPersonal) headers.set("cache-control", personalCacheControl(headers.get("cache-control")));
  return headers;
};
