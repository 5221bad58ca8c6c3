import { readFile } from "node:fs/promises";
import { Readable } from "node:stream";
import type { ReadableStream as WebStream } from "node:stream/web";
import { Pool, type Dispatcher } from "undici";
import { Problem } from "#contract/problem.ts";
import type { RouteService } from "#gateway/routes/route-service.ts";
import type { Upstream, UpstreamCall } from "./upstream.ts";

/** Nothing was sent: there was no connection. */
const unreached: ReadonlySet<string> = new Set([
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "UND_ERR_CONNECT_TIMEOUT",
]);
const untrusted = /^(?:CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_|ERR_TLS_|ERR_SSL_|EPROTO$|HOSTNAME_MISMATCH$)/;
const malformed = /^(?:HPE_|UND_ERR_(?:RESPONSE|RES_|HEADERS_OVERFLOW))/;
const repeatable: ReadonlySet<string> = new Set(["GET", "HEAD", "OPTIONS"]);
const bodiless: ReadonlySet<number> = new Set([101, 204, 205, 304]);

const problemOf = (error: unknown, method: string): Problem => {
  if (error instanceof Problem) return error;
  const { code: given, name } = error as { code?: unknown; name?: unknown };
  const code = typeof given === "string" ? given : "";
  if (untrusted.test(code)) return new Problem("upstream_tls_failed", { cause: error });
  if (unreached.has(code)) return new Problem("upstream_unavailable", { cause: error });
  if (malformed.test(code) || name === "HTTPParserError") return new Problem("upstream_bad_response", { cause: error });
  // It was sent and nobody knows what became of it; whoever asked again could do it twice.
  return repeatable.has(method)
    ? new Problem("upstream_error", { cause: error })
    : new Problem("upstream_outcome_unknown", { cause: error });
};

const headersOf = (raw: Dispatcher.ResponseData["headers"]): Headers => {
  const headers = new Headers();
  for (const [name, value] of Object.entries(raw)) {
    for (const one of Array.isArray(value) ? value : [value]) if (one !== undefined) headers.append(name, one);
  }
  return headers;
};

const bodyOf = (call: UpstreamCall): Uint8Array | Readable | null => {
  if (call.body === undefined) return null;
  return call.body instanceof Uint8Array ? call.body : Readable.fromWeb(call.body as WebStream<Uint8Array>);
};

/** An upstream at the other end of HTTP/1.1, with a pool of connections; path and query go out byte for byte. */
export const createHttpUpstream = async (service: RouteService, connectMs: number): Promise<Upstream> => {
  const url = new URL(service.baseUrl);
  const base = url.pathname.replace(/\/$/, "");
  const read = async (file: string | undefined) => (file === undefined ? undefined : readFile(file));
  const [ca, cert, key] = await Promise.all([read(service.caFile), read(service.clientCertFile), read(service.clientKeyFile)]);
  const open = (connections: number | null) =>
    new Pool(url.origin, {
      connections,
      pipelining: 1,
      // The corridor has its own clocks for headers, silence and the whole.
      headersTimeout: 0,
      bodyTimeout: 0,
      connect: {
        timeout: connectMs,
        ...(ca === undefined ? {} : { ca }),
        ...(cert === undefined ? {} : { cert }),
        ...(key === undefined ? {} : { key }),
      },
    });
  const requests = open(service.pool);
  // A stream holds its connection for hours: it must not take the place of a request. Their number has its own limits.
  const streams = open(null);
  return {
    url,
    send: async (call) => {
      try {
        const answer = await (call.isStream ? streams : requests).request({
          method: call.method as Dispatcher.HttpMethod,
          path: `${base}${call.path}${call.query}`,
          headers: [...call.headers].flat(),
          body: bodyOf(call),
          signal: call.signal,
        });
        const hasBody = !bodiless.has(answer.statusCode) && call.method !== "HEAD";
        if (!hasBody) await answer.body.dump();
        return new Response(hasBody ? (Readable.toWeb(answer.body) as ReadableStream<Uint8Array>) : null, {
          status: answer.statusCode,
          headers: headersOf(answer.headers),
        });
      } catch (error) {
        if (call.signal.aborted) throw call.signal.reason;
        throw problemOf(error, call.method);
      }
    },
    retire: async () => {
      await Promise.all([requests.close(), streams.close()]);
    },
    [Symbol.asyncDispose]: async () => {
      await Promise.all([requests.destroy(), streams.destroy()]);
    },
  };
};
