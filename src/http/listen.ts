import { createServer, type RequestListener, type Server, type ServerResponse } from "node:http";
import { getRequestListener } from "@hono/node-server";
import { RESPONSE_ALREADY_SENT } from "@hono/node-server/utils/response";
import { bindHosts } from "./bind-hosts.ts";
import { markFromSocket } from "./read-bytes.ts";
import { TextResponse } from "./text-response.ts";

export interface ListenOptions {
  /** 0 = any free port; all hosts then share the one that was found. */
  readonly port: number;
  /** Addresses to bind; loopback unless configured. */
  readonly hosts: readonly string[];
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

/** Serves a request listener on every host, on one port. */
export const listenOn = async (listener: RequestListener, options: ListenOptions): Promise<Listening> => {
  const limits = { requestTimeout: 300_000, headersTimeout: 10_000, keepAliveTimeout: 65_000, maxHeaderSize: 16_384 };
  const { port, bound } = await bindHosts(
    options,
    () => ({ server: createServer(limits, listener) }),
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

/** The same for a service of the one seam. */
export const listenService = (fetch: (request: Request) => Promise<Response>, options: ListenOptions): Promise<Listening> => {
  const answer = async (request: Request, outgoing: ServerResponse): Promise<Response> => {
    const response = await fetch(markFromSocket(request));
    return sendText(response, outgoing) ? RESPONSE_ALREADY_SENT : response;
  };
  const listener = getRequestListener((request, { outgoing }) => answer(request, outgoing as ServerResponse), {
    overrideGlobalObjects: false,
  });
  return listenOn((incoming, outgoing) => void listener(incoming, outgoing), options);
};
