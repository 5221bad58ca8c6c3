import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { Problem } from "#contract/problem.ts";
import { correlationIdOf } from "#http/correlation-id.ts";
import { createHttpServer, problemOfParser, type Tls } from "#http/create-server.ts";
import { listenerLimits, type ListenerLimits } from "#http/listener-limits.ts";
import { refuseConnection } from "#http/refuse-connection.ts";
import { discard, isEventStream, type Answer } from "#gateway/model/answer.ts";
import { canonicalise } from "#gateway/model/canonical-path.ts";
import type { ClientAddress } from "#gateway/limits/client-address.ts";
import type { ConnectionLimit } from "#gateway/limits/connection-limit.ts";
import type { Load } from "#gateway/limits/load.ts";
import { createAwaited } from "./awaited.ts";
import { isListening } from "#gateway/model/is-listening.ts";
import { ingressProblem } from "#gateway/model/ingress-problem.ts";
import { guardFrame, type Frame } from "./frame.ts";
import { inboundMethods, type Inbound } from "#gateway/model/inbound.ts";
import type { PublicOrigins } from "#gateway/model/public-origins.ts";
import { guardConnections } from "./guard-connections.ts";
import { createReaderWatch } from "./reader-watch.ts";
import { createRequestBody, type RequestBody } from "./request-body.ts";
import { writeResponse } from "./response-writer.ts";

export interface RawServerParts {
  readonly origins: PublicOrigins;
  readonly pipeline: Pipeline;
  readonly load: Load;
  readonly connections: ConnectionLimit;
  readonly clientAddress: ClientAddress;
  /** Absent = plain HTTP. */
  readonly tls?: Tls;
  /** Other limits than Sallyport's, for tests that cannot wait. */
  readonly limits?: Partial<ListenerLimits>;
}

/** What stands behind the ingress. */
export interface Pipeline {
  handle(inbound: Inbound): Promise<Answer>;
  /** The answer to a head that made no request: counted and written like any other. */
  refuse(
    problem: Problem,
    head: {
      readonly method: string;
      readonly correlationId: string;
      readonly isSecure: boolean;
      /** Its `Accept`; absent = no page is wanted. */
      readonly accept?: string | undefined;
      /** As it arrived. */
      readonly rawTarget?: string;
    },
  ): Answer;
  /** The parser made nothing of what arrived. */
  unparsed(problem: Problem): void;
}

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

/** A raw HTTP/1.1 server that hands on only what has one reading. */
export const createRawServer = (parts: RawServerParts): RawServer => {
  const limits = { ...listenerLimits, ...parts.limits };
  const readers = createReaderWatch(limits.stallMs);
  /** Those who wait for an answer, to be told when the time for answers under way is over. */
  const waiting = createAwaited<(problem: Problem) => void>();
  let over: Problem | undefined;
  const exchanges = new WeakMap<Duplex, Exchange>();
  /** Connections that end with the answer under way: whatever else arrives on them is not looked at. */
  const closing = new WeakSet<Duplex>();

  const readInbound = (request: IncomingMessage, outgoing: ServerResponse, frame: Frame, correlationId: string, isSecure: boolean) => {
    const target = canonicalise(request.url ?? "");
    const expects = frame.headers.get("expect") !== undefined;
    const body = frame.body && createRequestBody(request, frame.body.length, limits, () => expects && outgoing.writeContinue());
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

  /** The pipeline's answer, or 503 when Sallyport cannot wait for it any longer. */
  const answer = ({ inbound, left }: ReturnType<typeof readInbound>): Promise<Answer> =>
    new Promise((resolve, reject) => {
      const giveUp = (problem: Problem): void => {
        place?.gone();
        left.abort(problem);
        resolve(parts.pipeline.refuse(problem, inbound));
      };
      const place = over === undefined ? waiting.add(giveUp) : undefined;
      if (over !== undefined) {
        giveUp(over);
        return;
      }
      parts.pipeline.handle(inbound).then(
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
      const refused = parts.pipeline.refuse(error, {
        method: request.method ?? "",
        correlationId,
        isSecure,
        accept: request.headers.accept,
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

  // A request without a host is answered by us, in our own words.
  const server = createHttpServer(limits, { requireHostHeader: false, tls: parts.tls });
  guardConnections(server, parts.connections);
  server.on("request", begin);
  server.on("checkContinue", begin);
  server.on("checkExpectation", begin);
  server.on("connect", (_request: IncomingMessage, socket: Duplex) => {
    const problem = new Problem("method_not_allowed", { headers: { allow: inboundMethods.join(", ") } });
    parts.pipeline.unparsed(problem);
    refuseConnection(socket, problem);
  });
  server.on("clientError", (error: NodeJS.ErrnoException, socket: Duplex) => {
    const exchange = exchanges.get(socket);
    const problem = problemOfParser(error);
    if (problem === undefined || !socket.writable) {
      socket.destroy();
      return;
    }
    if (closing.has(socket)) return;
    closing.add(socket);
    if (exchange !== undefined) {
      // The answer under way is the last one: it says the fault if the fault lies in its own body.
      exchange.outgoing.on("close", () => socket.destroy());
      exchange.body?.fail(problem);
      return;
    }
    parts.pipeline.unparsed(problem);
    refuseConnection(socket, problem);
  });
  return {
    server,
    refuseRest: () => {
      over = ingressProblem("stopping", { headers: { "retry-after": "5" } });
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
