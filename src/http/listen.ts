import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { getRequestListener } from "@hono/node-server";

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

const bind = (server: Server, port: number, host: string): Promise<number> =>
  new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen({ port, host, ipv6Only: host.includes(":") }, () => {
      server.off("error", reject);
      resolve((server.address() as AddressInfo).port);
    });
  });

/** A machine without IPv6 has no ::1; that is no fault while another address was bound. */
const isAbsentAddress = (error: unknown): boolean =>
  ["EADDRNOTAVAIL", "EAFNOSUPPORT"].includes((error as NodeJS.ErrnoException).code ?? "");

const closeServer = (server: Server, graceMs: number): Promise<void> =>
  new Promise((resolve) => {
    const timer = setTimeout(() => server.closeAllConnections(), graceMs);
    server.close(() => {
      clearTimeout(timer);
      resolve();
    });
    server.closeIdleConnections();
  });

/** Binds a request listener to every host on one port. A start that fails half-way closes what it bound. */
export const listenOn = async (listener: RequestListener, options: ListenOptions): Promise<Listening> => {
  const servers: Server[] = [];
  let port = options.port;
  try {
    for (const host of options.hosts) {
      const server = createServer(
        { requestTimeout: 300_000, headersTimeout: 10_000, keepAliveTimeout: 65_000, maxHeaderSize: 16_384 },
        listener,
      );
      try {
        port = await bind(server, port, host);
        servers.push(server);
      } catch (error) {
        if (!(isAbsentAddress(error) && options.hosts.length > 1)) throw error;
      }
    }
  } catch (error) {
    await Promise.all(servers.map((server) => closeServer(server, 0)));
    throw error;
  }
  return {
    port,
    close: async (graceMs = 5000) => {
      await Promise.all(servers.map((server) => closeServer(server, graceMs)));
    },
  };
};

/** The same for a service of the one seam. */
export const listenService = (fetch: (request: Request) => Promise<Response>, options: ListenOptions): Promise<Listening> => {
  const listener = getRequestListener(fetch, { overrideGlobalObjects: false });
  return listenOn((incoming, outgoing) => void listener(incoming, outgoing), options);
};
