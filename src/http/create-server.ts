import { createServer, type Server } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { ListenerCode } from "#contract/endpoint-problems.ts";
import { Problem, type ProblemOptions } from "#contract/problem.ts";
import type { ListenerLimits } from "./listener-limits.ts";

/** PEM texts. */
export interface Tls {
  readonly cert: string;
  readonly key: string;
}

const strict = { insecureHTTPParser: false, joinDuplicateHeaders: false } as const;

/** A server of HTTP/1.1, over TLS where it has a certificate, with the limits that every listener of Sallyport has. */
export const createHttpServer = (limits: ListenerLimits, more: { readonly tls?: Tls; readonly requireHostHeader: boolean }): Server => {
  // Those of our limits that Node knows bear its names.
  const options = { ...strict, ...limits, requireHostHeader: more.requireHostHeader, keepAlive: true };
  const server =
    more.tls === undefined
      ? createServer(options)
      : createTlsServer({
          ...options,
          ...more.tls,
          handshakeTimeout: limits.headersTimeout,
          minVersion: "TLSv1.2",
          ALPNProtocols: ["http/1.1"],
        });
  // Lines over the parser's own number would be dropped in silence; ours are counted.
  server.maxHeadersCount = 0;
  server.maxConnections = limits.maxConnections;
  return server;
};

/** A refusal by a listener before anybody looks at the path: the reference of every endpoint has it. */
export const listenerProblem = (code: ListenerCode, options: ProblemOptions = {}): Problem => new Problem(code, options);

const isControl = (byte: number | undefined): boolean => byte === undefined || byte < 0x21 || byte === 0x7f;

/** What the parser's complaint means: a fault of the target is told from a fault of the framing; `undefined`: nobody would hear an answer. */
export const problemOfParser = (error: NodeJS.ErrnoException & { rawPacket?: Buffer; bytesParsed?: number }): Problem | undefined => {
  // A reset, or no TLS.
  if (!/^(?:HPE_|ERR_HTTP_)/.test(error.code ?? "")) return undefined;
  switch (error.code) {
    case "HPE_HEADER_OVERFLOW":
      return listenerProblem("headers_too_large");
    case "ERR_HTTP_REQUEST_TIMEOUT":
      return listenerProblem("request_timeout");
    case "HPE_INVALID_URL": {
      const at = error.bytesParsed ?? 0;
      const bytes = [error.rawPacket?.[at - 1], error.rawPacket?.[at]];
      return bytes.some(isControl) ? listenerProblem("bad_framing") : listenerProblem("ambiguous_target");
    }
    default:
      return listenerProblem("bad_framing");
  }
};
