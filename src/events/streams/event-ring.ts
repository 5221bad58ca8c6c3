import type { StreamEvent } from "./stream-source.ts";

interface Held {
  readonly event: StreamEvent;
  /** Bytes of all events up to this one since the ring began. */
  readonly total: number;
}

/** The newest events of one stream, in order. */
export const createEventRing = (limits: { readonly events: number; readonly bytes: number }) => {
  const ring: Held[] = [];
  let total = 0;

  /** Place of the first event after a version. */
  const placeAfter = (version: bigint): number => {
    let low = 0;
    let high = ring.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((ring[middle]?.event.seq ?? 0n) <= version) low = middle + 1;
      else high = middle;
    }
    return low;
  };

  return {
    hold: (events: readonly StreamEvent[]): void => {
      for (const event of events) {
        total += JSON.stringify(event.data).length + 200;
        ring.push({ event, total });
      }
      let held = total - (ring[0]?.total ?? 0);
      while (ring.length > limits.events || (held > limits.bytes && ring.length > 1)) {
        const dropped = ring.shift();
        held = total - (dropped?.total ?? total);
      }
    },
    /** At most so many events after a version; `undefined` where the ring no longer reaches so far back. */
    after: (version: bigint, max: number): readonly StreamEvent[] | undefined => {
      const first = ring[0]?.event.seq;
      if (first === undefined || version < first - 1n) return undefined;
      const place = placeAfter(version);
      return ring.slice(place, place + max).map(({ event }) => event);
    },
    /** Bytes of the events after a version; of one that the ring has lost, all that it ever held. */
    bytesAfter: (version: bigint): number => (ring.length === 0 ? 0 : total - (ring[placeAfter(version) - 1]?.total ?? 0)),
  };
};
