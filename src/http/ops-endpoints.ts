import type { Peer } from "#contract/ask.ts";
import { isLoopbackHost } from "#contract/loopback.ts";
import { Problem } from "#contract/problem.ts";
import type { Metrics } from "#telemetry/metrics.ts";
import { isLoopbackAddress } from "./addresses.ts";
import { correlationIdOf } from "./correlation-id.ts";
import { hasForwarding } from "./forwarding-names.ts";
import { asProblem, problemResponse } from "./problem-body.ts";
import { peerAddressOf } from "./read-bytes.ts";

/** Whoever asks for the metrics, as far as it is known. */
export interface Scraper {
  /** The other end of the connection; `undefined`: there is none. */
  readonly peerAddress: string | undefined;
  readonly host: string;
  readonly headerNames: Iterable<string>;
}

/**
 * Whether metrics are open to it without a token: this machine by a loopback name, or a listed network, and nobody whom somebody else
 * asks for.
 */
export const isOpenScraper = ({ peerAddress, host, headerNames }: Scraper, isListed: (address: string) => boolean): boolean =>
  peerAddress !== undefined &&
  !hasForwarding(headerNames) &&
  ((isLoopbackAddress(peerAddress) && isLoopbackHost(host)) || isListed(peerAddress));

export interface OwnPages {
  /** The parts that do not answer; empty = ready. */
  readonly ready: () => Promise<readonly string[]>;
  readonly metrics: Metrics;
  /** Whether `METRICS_ALLOW` lists an address. */
  readonly isListed: (address: string) => boolean;
  /** Throws unless the request's own token may read metrics. */
  readonly requireReader: (request: Request) => Promise<unknown>;
  /** What it says of itself while it is ready. */
  readonly more?: () => Readonly<Record<string, unknown>> | Promise<Readonly<Record<string, unknown>>>;
}

const paths: ReadonlySet<string> = new Set(["/health/live", "/health/ready", "/metrics"]);
export const isOwnPage = (path: string): boolean => paths.has(path);

const json = (status: number, body: unknown, headers: Readonly<Record<string, string>> = {}): Response =>
  new Response(JSON.stringify(body), {
    status,
    headers: { "content-type": "application/json", "cache-control": "no-store", "x-content-type-options": "nosniff", ...headers },
  });

/**
 * What every service shows of itself, in one way: `GET /health/live`, `/health/ready` (503 `{status, reasons}` while a part is missing) and
 * `/metrics`. Health is for anybody; metrics as `isOpenScraper` says, else with a token. The rest is the service's own.
 */
export const withOwnPages = (fetch: (request: Request, pathname: string) => Promise<Response>, pages: OwnPages): Peer => {
  const startedAt = performance.now();
  const served: Readonly<Record<string, Peer>> = {
    "/health/live": async () => json(200, { status: "alive", uptime_s: Math.floor((performance.now() - startedAt) / 1000) }),
    "/health/ready": async () => {
      const reasons = await pages.ready();
      return reasons.length === 0
        ? json(200, { status: "ready", ...(await pages.more?.()) })
        : json(503, { status: "not_ready", reasons }, { "retry-after": "5" });
    },
    "/metrics": async (request) => {
      const scraper = { peerAddress: peerAddressOf(request), host: new URL(request.url).host, headerNames: request.headers.keys() };
      if (!isOpenScraper(scraper, pages.isListed)) await pages.requireReader(request);
      return new Response(await pages.metrics.text(), {
        headers: { "content-type": pages.metrics.contentType, "cache-control": "no-store" },
      });
    },
  };
  const show = async (page: Peer, request: Request): Promise<Response> => {
    const correlationId = correlationIdOf(request.headers.get("x-correlation-id"));
    try {
      if (request.method !== "GET" && request.method !== "HEAD")
        throw new Problem("method_not_allowed", { headers: { allow: "GET, HEAD" } });
      return await page(request);
    } catch (error) {
      return problemResponse(asProblem(error), correlationId);
    }
  };
  // Not async: every request of the service passes here.
  return (request) => {
    const { pathname } = new URL(request.url);
    const page = Object.hasOwn(served, pathname) ? served[pathname] : undefined;
    return page === undefined ? fetch(request, pathname) : show(page, request);
  };
};
