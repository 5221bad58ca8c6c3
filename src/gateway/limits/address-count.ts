import { siteOf } from "./client-address.ts";

/** How much each address holds at this moment. */
export interface AddressCount {
  /** Counts one more for this address; the returned function ends it and may be called again. */
  enter(address: string): () => void;
  /** True when this address holds more than one may: its newest is one too many. */
  isOver(address: string): boolean;
}

interface Count {
  held: number;
}

const nothing = (): void => {};
/** So many addresses are remembered before those that hold nothing any more are looked for. */
const FEW = 1024;

/**
 * Counts by IPv4 address, or by the /64 that an IPv6 site has. `most` 0 = no limit. An exempt address stands for many: a
 * proxy that we trust.
 *
 * Cost: one look-up. What an address had stays for a while after it has left: a table that grows and shrinks with every
 * request would be built anew all the time.
 */
export const createAddressCount = (max: number, isExempt: (address: string) => boolean): AddressCount => {
  const counts = new Map<string, Count>();
  let sweepAt = FEW;
  const sweep = (): void => {
    for (const [network, { held }] of counts) if (held === 0) counts.delete(network);
    sweepAt = Math.max(FEW, counts.size * 2);
  };
  return {
    enter: (address) => {
      if (max === 0 || isExempt(address)) return nothing;
      const network = siteOf(address);
      const known = counts.get(network);
      const count = known ?? { held: 0 };
      if (known === undefined) {
        if (counts.size >= sweepAt) sweep();
        counts.set(network, count);
      }
      count.held += 1;
      let isHeld = true;
      return () => {
        if (isHeld) count.held -= 1;
        isHeld = false;
      };
    },
    isOver: (address) => max !== 0 && !isExempt(address) && (counts.get(siteOf(address))?.held ?? 0) > max,
  };
};

/** Counts nobody. */
export const noAddressCount: AddressCount = { enter: () => nothing, isOver: () => false };
