import type { RequestListener, Server, ServerResponse } from "node:http";
import { getRequestListener } from "@hono/node-server";
import { RESPONSE_ALREADY_SENT } from "@hono/node-server/utils/response";
import type { Peer } from "#contract/ask.ts";
import { bindHosts } from "./bind-hosts.ts";
import { createHttpServer, type Tls } from "./create-server.ts";
import { guardExchanges } from "./guard-exchanges.ts";
import { isOwnPage, withOwnPages, type OwnPages } from "./ops-endpoints.ts";
import { listenerLimits, type ListenerLimits } from "./listener-limits.ts";
import { markFromSocket } from "./read-bytes.ts";
import { TextResponse } from "./text-response.ts";

export interface ListenOptions {
  /** 0 = any free port; all hosts then share the one that was found. */
  readonly port: number;
  /** Addresses to bind; loopback unless configured. */
  readonly hosts: readonly string[];
  /** Absent = plain HTTP. */
  readonly tls?: Tls | undefined;
  /** Shown before the listener is asked. */
  readonly pages?: OwnPages;
  /** Other limits than Sallyport's, for tests that cannot wait. */
  readonly limits?: Partial<ListenerLimits>;
}

export interface Listening {
  readonly port: number;
  /** Stops accepting, ends idle connections at once, waits at most `graceMs` for requests in flight. */
  close(graceMs?: number): Promise<void>;
}

export const loopbackHosts: readonly string[] = ["127.0.0.1", "::1"];

const closeServer = (server: Server, graceMs: number): Promise<void> =>
  new Promise((resolve) => {
    const timer = setTimeout(() => server.closeAllConnections(), graceMs);
    server.close(() => {
      clearTimeout(timer);
      resolve();
    });
    server.closeIdleConnections();
  });

/** Serves a request listener on every host, on one port, over TLS where there is a certificate. */
export const listenOn = async (listener: RequestListener, options: ListenOptions): Promise<Listening> => {
  const limits = { ...listenerLimits, ...options.limits };
  const { port, bound } = await bindHosts(
    options,
    () => {
      const server = createHttpServer(limits, { requireHostHeader: true, tls: options.tls });
      guardExchanges(server, limits, options.pages === undefined ? listener : withPages(listener, options.pages));
      return { server };
    },
    ({ server }) => closeServer(server, 0),
  );
  return {
    port,
    close: async (graceMs = 5000) => {
      await Promise.all(bound.map(({ server }) => closeServer(server, graceMs)));
    },
  };
};

/** Writes head and text at once. False, with nothing written, where the answer is of another kind. */
const sendText = (response: Response, outgoing: ServerResponse): boolean => {
  const head = TextResponse.headOf(response);
  // Cookies are the one header that may stand there twice.
  const text = head === undefined || head.includes("set-cookie") ? undefined : TextResponse.take(response);
  if (head === undefined || text === undefined) return false;
  head.push("content-length", String(Buffer.byteLength(text)));
  outgoing.writeHead(response.status, head);
  outgoing.end(text);
  return true;
};

const listenerOf = (fetch: Peer): RequestListener => {
  const answer = async (request: Request, outgoing: ServerResponse): Promise<Response> => {
    const response = await fetch(markFromSocket(request, outgoing.socket?.remoteAddress));
    return sendText(response, outgoing) ? RESPONSE_ALREADY_SENT : response;
  };
  const listener = getRequestListener((request, { outgoing }) => answer(request, outgoing as ServerResponse), {
    overrideGlobalObjects: false,
  });
  return (incoming, outgoing) => void listener(incoming, outgoing);
};

/** The same for a service of the one seam. */
export const listenService = (fetch: Peer, options: ListenOptions): Promise<Listening> => listenOn(listenerOf(fetch), options);

/** A listener that knows nothing of the seam, with the pages that every service has. */
const withPages = (listener: RequestListener, pages: OwnPages): RequestListener => {
  const show = listenerOf(withOwnPages(async () => new Response(null, { status: 404 }), pages));
  return (incoming, outgoing) => (isOwnPage((incoming.url ?? "").split("?", 1)[0] ?? "") ? show : listener)(incoming, outgoing);
};
