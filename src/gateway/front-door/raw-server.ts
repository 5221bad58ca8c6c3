import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { isReserved } from "#gateway/web-client/client-routes.ts";
import { createServer as createTlsServer } from "node:https";
import type { Duplex } from "node:stream";
import { Problem } from "#contract/problem.ts";
import { correlationIdOf } from "#http/correlation-id.ts";
import { discard, isEventStream, type Answer } from "#gateway/answer.ts";
import { canonicalise } from "#gateway/canonical-path.ts";
import type { ClientAddress } from "#gateway/limits/client-address.ts";
import type { ConnectionDoor } from "#gateway/limits/connection-door.ts";
import type { Load } from "#gateway/limits/load.ts";
import { createAwaited } from "./awaited.ts";
import { isListening } from "#gateway/streams/is-listening.ts";
import { guardFrame, type Frame } from "./frame.ts";
import { frontDoorLimits, type FrontDoorLimits } from "./front-door-limits.ts";
import { inboundMethods, type Inbound } from "./inbound.ts";
import type { PublicOrigins } from "./public-origins.ts";
import { refuseConnection } from "./raw-refusal.ts";
import { guardConnections } from "./guard-connections.ts";
import { createReaderWatch } from "./reader-watch.ts";
import { createRequestBody, type RequestBody } from "./request-body.ts";
import { writeResponse } from "./response-writer.ts";

export interface RawServerParts {
  readonly origins: PublicOrigins;
  readonly corridor: Corridor;
  readonly load: Load;
  readonly connections: ConnectionDoor;
  readonly clientAddress: ClientAddress;
  /** PEM texts; absent = plain HTTP. */
  readonly tls?: { readonly cert: string; readonly key: string };
  /** Other limits than the house's, for tests that cannot wait. */
  readonly limits?: Partial<FrontDoorLimits>;
}

/** What stands behind the front door. */
/** A page load by a browser, of an address where pages are: a person looks at what it is told. */
const isForPerson = ({ method, headers, url = "" }: IncomingMessage): boolean =>
  method === "GET" && (headers.accept ?? "").includes("text/html") && !isReserved(url.split(/[?#]/, 1)[0] ?? "");

export interface Corridor {
  handle(inbound: Inbound): Promise<Answer>;
  /** The answer to a head that made no request: counted and written like any other. */
  refuse(
    problem: Problem,
    head: {
      readonly method: string;
      readonly correlationId: string;
      readonly isSecure: boolean;
      readonly isForPerson?: boolean;
      /** As it arrived. */
      readonly rawTarget?: string;
    },
  ): Answer;
  /** The parser made nothing of what arrived. */
  unparsed(problem: Problem): void;
}

const strict = { insecureHTTPParser: false, joinDuplicateHeaders: false, requireHostHeader: false } as const;

export interface RawServer {
  readonly server: Server;
  /** Answers every request that has no answer yet with 503, and lets its work go. */
  refuseRest(): void;
}

/** One request on its connection, as long as its answer is not finished. */
interface Exchange {
  readonly body: RequestBody | undefined;
  readonly outgoing: ServerResponse;
}

const isControl = (byte: number | undefined): boolean => byte === undefined || byte < 0x21 || byte === 0x7f;

/** What the parser's complaint means: a fault of the target is told from a fault of the framing. */
const problemOfParser = (error: NodeJS.ErrnoException & { rawPacket?: Buffer; bytesParsed?: number }): Problem => {
  switch (error.code) {
    case "HPE_HEADER_OVERFLOW":
      return new Problem("headers_too_large");
    case "ERR_HTTP_REQUEST_TIMEOUT":
      return new Problem("request_timeout");
    case "HPE_INVALID_URL": {
      const at = error.bytesParsed ?? 0;
      const bytes = [error.rawPacket?.[at - 1], error.rawPacket?.[at]];
      return bytes.some(isControl) ? new Problem("bad_framing") : new Problem("ambiguous_target");
    }
    default:
      return new Problem("bad_framing");
  }
};

/** A raw HTTP/1.1 server that hands on only what has one reading. */
export const createRawServer = (parts: RawServerParts): RawServer => {
  const { maxConnections, stallMs, ...limits } = { ...frontDoorLimits, ...parts.limits };
  const readers = createReaderWatch(stallMs);
  /** Those who wait for an answer, to be told when the time for answers under way is over. */
  const waiting = createAwaited<(problem: Problem) => void>();
  let over: Problem | undefined;
  const exchanges = new WeakMap<Duplex, Exchange>();
  /** Connections that end with the answer under way: whatever else arrives on them is not looked at. */
  const closing = new WeakSet<Duplex>();

  const readInbound = (request: IncomingMessage, outgoing: ServerResponse, frame: Frame, correlationId: string, isSecure: boolean) => {
    const target = canonicalise(request.url ?? "");
    const expects = frame.headers.get("expect") !== undefined;
    const body = frame.body && createRequestBody(request, frame.body.length, () => expects && outgoing.writeContinue());
    const left = new AbortController();
    outgoing.on("close", () => {
      if (!outgoing.writableFinished) left.abort();
    });
    const peerAddress = request.socket.remoteAddress ?? "";
    const inbound: Inbound = {
      method: frame.method,
      target,
      headers: frame.headers,
      host: parts.origins.hostOf(frame.host),
      origin: parts.origins.originOf(frame.host),
      peerAddress,
      clientAddress: parts.clientAddress({ peerAddress, headers: frame.headers }),
      isSecure,
      correlationId,
      body,
      signal: left.signal,
    };
    return { inbound, body, left };
  };

  /** The corridor's answer, or 503 when the house cannot wait for it any longer. */
  const answer = ({ inbound, left }: ReturnType<typeof readInbound>): Promise<Answer> =>
    new Promise((resolve, reject) => {
      const giveUp = (problem: Problem): void => {
        place?.gone();
        left.abort(problem);
        resolve(parts.corridor.refuse(problem, inbound));
      };
      const place = over === undefined ? waiting.add(giveUp) : undefined;
      if (over !== undefined) {
        giveUp(over);
        return;
      }
      parts.corridor.handle(inbound).then(
        (made) => {
          if (place?.gone() === true) resolve(made);
          else discard(made);
        },
        (error: unknown) => {
          place?.gone();
          reject(error as Error);
        },
      );
    });

  const serve = async (request: IncomingMessage, outgoing: ServerResponse): Promise<void> => {
    const { socket } = request;
    if (closing.has(socket)) return;
    // An answer that fails after its head has left is destroyed by the writer; nobody else listens.
    request.on("error", () => {});
    outgoing.on("error", () => {});
    const isSecure = "encrypted" in socket;
    const correlationId = correlationIdOf(singleHeader(request.rawHeaders, "x-correlation-id"));
    let frame: Frame;
    let entered: ReturnType<typeof readInbound>;
    try {
      frame = guardFrame({ method: request.method ?? "", httpVersion: request.httpVersion, rawHeaders: request.rawHeaders });
      entered = readInbound(request, outgoing, frame, correlationId, isSecure);
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      closing.add(socket);
      const refused = parts.corridor.refuse(error, {
        method: request.method ?? "",
        correlationId,
        isSecure,
        isForPerson: isForPerson(request),
        rawTarget: request.url ?? "",
      });
      await writeResponse(refused, outgoing, { isHead: request.method === "HEAD", close: true, readers });
      return;
    }
    const leave = parts.load.enter(entered.inbound.clientAddress);
    exchanges.set(socket, { body: entered.body, outgoing });
    outgoing.on("close", () => {
      leave();
      if (exchanges.get(socket)?.outgoing === outgoing) exchanges.delete(socket);
    });
    const made = await answer(entered);
    // One that listens does so for hours: the number of those has limits of its own.
    if (isEventStream(made) && isListening(entered.inbound)) leave();
    // What the client has not sent yet will not be read: the next request could not be told from it. And a server that
    // stops takes no next one.
    const close = entered.body?.isSettled() === false || !server.listening;
    if (close) closing.add(socket);
    await writeResponse(made, outgoing, { isHead: frame.method === "HEAD", close, readers });
  };

  const begin = (request: IncomingMessage, outgoing: ServerResponse): void => {
    serve(request, outgoing).catch(() => outgoing.destroy());
  };

  const options = { ...strict, ...limits, keepAlive: true };
  const server =
    parts.tls === undefined
      ? createServer(options)
      : createTlsServer({
          ...options,
          ...parts.tls,
          handshakeTimeout: limits.headersTimeout,
          minVersion: "TLSv1.2",
          ALPNProtocols: ["http/1.1"],
        });
  server.maxHeadersCount = 0;
  server.maxConnections = maxConnections;
  guardConnections(server, parts.connections);
  server.on("request", begin);
  server.on("checkContinue", begin);
  server.on("checkExpectation", begin);
  server.on("connect", (_request: IncomingMessage, socket: Duplex) => {
    const problem = new Problem("method_not_allowed", { headers: { allow: inboundMethods.join(", ") } });
    parts.corridor.unparsed(problem);
    refuseConnection(socket, problem);
  });
  server.on("clientError", (error: NodeJS.ErrnoException, socket: Duplex) => {
    const exchange = exchanges.get(socket);
    // A reset, or no TLS: nobody would hear an answer.
    if (!/^(?:HPE_|ERR_HTTP_)/.test(error.code ?? "") || !socket.writable) {
      socket.destroy();
      return;
    }
    const problem = problemOfParser(error);
    if (closing.has(socket)) return;
    closing.add(socket);
    if (exchange !== undefined) {
      // The answer under way is the last one: it says the fault if the fault lies in its own body.
      exchange.outgoing.on("close", () => socket.destroy());
      exchange.body?.fail(problem);
      return;
    }
    parts.corridor.unparsed(problem);
    refuseConnection(socket, problem);
  });
  return {
    server,
    refuseRest: () => {
      over = new Problem("stopping", { headers: { "retry-after": "5" } });
      for (const giveUp of waiting) giveUp(over);
    },
  };
};

const singleHeader = (rawHeaders: readonly string[], wanted: string): string | undefined => {
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at];
    if (name?.length === wanted.length && name.toLowerCase() === wanted) return rawHeaders[at + 1];
  }
  return undefined;
};
