import type { Server } from "node:http";
import type { AddressInfo } from "node:net";

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
 * Binds one server a host, all on one port (0 = any free one). A machine without IPv6 has no `::1`; that is no fault while
 * another address was bound. A start that fails half-way closes what it bound.
 */
export const bindHosts = async <S extends { readonly server: Server }>(
  options: { readonly port: number; readonly hosts: readonly string[] },
  make: () => S,
  close: (one: S) => Promise<void>,
): Promise<{ readonly port: number; readonly hosts: readonly string[]; readonly bound: readonly S[] }> => {
  const bound: S[] = [];
  const hosts: string[] = [];
  let port = options.port;
  try {
    for (const host of options.hosts) {
      const one = make();
      try {
        port = await bind(one.server, port, host);
        bound.push(one);
        hosts.push(host);
      } catch (error) {
        if (!(isAbsentAddress(error) && options.hosts.length > 1)) throw error;
      }
    }
    if (bound.length === 0) throw new Error(`none of ${options.hosts.join(", ")} can be bound`);
  } catch (error) {
    await Promise.all(bound.map(close));
    throw error;
  }
  return { port, hosts, bound };
};
