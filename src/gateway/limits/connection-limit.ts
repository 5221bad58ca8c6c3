import type { Metrics } from "#telemetry/metrics.ts";
import type { AddressCount } from "./address-count.ts";
import { plainAddress } from "./client-address.ts";

/** Who may hold a connection; asked before a byte of it is read. */
export interface ConnectionLimit {
  /** Takes a place for a connection of this peer; the returned function gives it back. `undefined`: it has too many. */
  enter(peerAddress: string): (() => void) | undefined;
  /** A connection was closed unseen: there are too many of all. */
  dropped(): void;
}

export const createConnectionLimit = (parts: { readonly ofAddress: AddressCount; readonly metrics: Metrics }): ConnectionLimit => {
  const { ofAddress, metrics } = parts;
  let open = 0;
  const show = (): void => metrics.set("gateway_connections", {}, open);
  // Both are there from the start.
  for (const reason of ["address", "all"]) metrics.count("gateway_connections_refused_total", { reason }, 0);
  show();
  return {
    enter: (peerAddress) => {
      const address = plainAddress(peerAddress);
      const leave = ofAddress.enter(address);
      if (ofAddress.isOver(address)) {
        leave();
        metrics.count("gateway_connections_refused_total", { reason: "address" });
        return undefined;
      }
      open += 1;
      show();
      return () => {
        leave();
        open -= 1;
        show();
      };
    },
    dropped: () => metrics.count("gateway_connections_refused_total", { reason: "all" }),
  };
};
