import { bindHosts } from "#http/bind-hosts.ts";
import { createRawServer, type RawServerParts } from "./raw-server.ts";
import { closeRawServer } from "./close-raw-server.ts";

export interface Listening {
  readonly port: number;
  /** Addresses that were bound, e.g. `127.0.0.1`, `::1`. */
  readonly hosts: readonly string[];
  /** Stops accepting, lets answers under way finish for at most `deadlineMs`, answers what is left with 503 and closes it. */
  close(deadlineMs: number): Promise<void>;
}

/** Opens the front door on every host, on one port. */
export const listenFrontDoor = async (
  parts: RawServerParts,
  options: { readonly port: number; readonly hosts: readonly string[] },
): Promise<Listening> => {
  const { port, hosts, bound } = await bindHosts(
    options,
    () => createRawServer(parts),
    (raw) => closeRawServer(raw, 0),
  );
  return {
    port,
    hosts,
    close: async (deadlineMs) => {
      await Promise.all(bound.map((raw) => closeRawServer(raw, deadlineMs)));
    },
  };
};
