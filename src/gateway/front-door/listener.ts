import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { createRawServer, type RawServer, type RawServerParts } from "./raw-server.ts";
import { closeRawServer } from "./close-raw-server.ts";

export interface Listening {
  readonly port: number;
  /** Addresses that were bound, e.g. `127.0.0.1`, `::1`. */
  readonly hosts: readonly string[];
  /** Stops accepting, lets answers under way finish for at most `deadlineMs`, answers what is left with 503 and closes it. */
  close(deadlineMs: number): Promise<void>;
}

const bind = (server: Server, port: number, host: string): Promise<number> =>
  new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen({ port, host, ipv6Only: host.includes(":") }, () => {
      server.off("error", reject);
      resolve((server.address() as AddressInfo).port);
    });
  });

const isAbsentAddress = (error: unknown): boolean =>
  ["EADDRNOTAVAIL", "EAFNOSUPPORT"].includes((error as NodeJS.ErrnoException).code ?? "");

/**
 * Binds the front door to every host on one port (0 = any free one). A machine without IPv6 has no `::1`; that is no
 * fault while another address was bound. A start that fails half-way closes what it opened.
 */
export const listenFrontDoor = async (
  parts: RawServerParts,
  options: { readonly port: number; readonly hosts: readonly string[] },
): Promise<Listening> => {
  const servers: RawServer[] = [];
  const hosts: string[] = [];
  let port = options.port;
  try {
    for (const host of options.hosts) {
      const raw = createRawServer(parts);
      try {
        port = await bind(raw.server, port, host);
        servers.push(raw);
        hosts.push(host);
      } catch (error) {
        if (!(isAbsentAddress(error) && options.hosts.length > 1)) throw error;
      }
    }
    if (servers.length === 0) throw new Error(`none of ${options.hosts.join(", ")} can be bound`);
  } catch (error) {
    await Promise.all(servers.map((server) => closeRawServer(server, 0)));
    throw error;
  }
  return {
    port,
    hosts,
    close: async (deadlineMs) => {
      await Promise.all(servers.map((server) => closeRawServer(server, deadlineMs)));
    },
  };
};
