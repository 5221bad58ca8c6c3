import { isIP } from "node:net";
import { firstWords } from "#http/addresses.ts";
import type { Inbound } from "#gateway/model/inbound.ts";

/** An IPv4 address that a dual-stack socket shows as IPv6. */
const MAPPED = /^::ffff:([0-9]{1,3}(?:\.[0-9]{1,3}){3})$/i;
/** The address as IPv4 where it is one. */
export const plainAddress = (address: string): string => MAPPED.exec(address)?.[1] ?? address;

/** Where a client is, of what its request shows. */
export type ClientAddress = (inbound: Pick<Inbound, "peerAddress" | "headers">) => string;

/**
 * Address of the client: the TCP peer, or, if that is a trusted proxy, the rightmost address in `X-Forwarded-For` that is
 * none. What stands left of it was written by the client itself. An entry that is no address ends the search.
 */
export const createClientAddress =
  (isTrustedProxy: (address: string) => boolean): ClientAddress =>
  (inbound) => {
    let address = plainAddress(inbound.peerAddress);
    if (!isTrustedProxy(address)) return address;
    const hops = (inbound.headers.get("x-forwarded-for") ?? "").split(",").map((hop) => plainAddress(hop.trim()));
    for (const hop of hops.toReversed()) {
      if (isIP(hop) === 0) return address;
      address = hop;
      if (!isTrustedProxy(address)) return address;
    }
    return address;
  };

/** What one client holds: an IPv4 address, or the /64 that every IPv6 network gives to one site. */
export const siteOf = (address: string): string => (isIP(address) === 6 ? `${firstWords(address, 4)}::/64` : address);
