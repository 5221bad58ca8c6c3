import { lostReason, type BusFrame, type SubscribeOptions, type Subscription } from "./bus-frame.ts";
import { createEventRing } from "./event-ring.ts";
import type { StreamEvent, StreamSource } from "./stream-source.ts";

/** The live end of one (tenant, stream) in this process. */
export type StreamHub = ReturnType<typeof createStreamHub>;

const RING_EVENTS = 512;
const RING_BYTES = 4 * 1_048_576;
const BEHIND_EVENTS = 256n;
const BEHIND_BYTES = 1_048_576;
const PAGE = 500;
const AT_ONCE = 64;

interface Subscriber {
  position: bigint;
  /** Up to here it takes at its own pace what was read at once; it is behind only by what came after. */
  burst: bigint;
  live: boolean;
  ended: "slow" | "drain" | "left" | undefined;
  wake: () => void;
  readonly onSlow: (() => void) | undefined;
}

export interface HubParts {
  readonly tenant: string;
  readonly stream: string;
  readonly source: StreamSource;
  readonly onIssue: (error: unknown) => void;
  readonly onResync: (reason: string) => void;
  /** The last subscriber left. */
  readonly onEmpty: () => void;
}

/**
 * Keeps the newest events and wakes whoever waits for them. Each subscriber takes from there, or from the table, at its
 * own pace: a slow one costs nothing but is given up when it lies 256 events or 1 MiB behind. Nobody waits for it. However
 * much is committed at once, nobody is slow for that, only who has not worked it off when so much more has come after it.
 */
export const createStreamHub = (parts: HubParts) => {
  const { tenant, stream, source } = parts;
  const subscribers = new Set<Subscriber>();
  const ring = createEventRing({ events: RING_EVENTS, bytes: RING_BYTES });
  /** Version up to which events have been read; undefined until the first look. */
  let read: bigint | undefined;
  let oldest = 1n;
  let reading: Promise<void> = Promise.resolve();

  const look = async (): Promise<void> => {
    const [head] = await source.heads([{ tenant, stream }]);
    oldest = head?.oldest ?? (stream === "activity" ? 0n : 1n);
    const version = head?.version ?? oldest - 1n;
    read ??= version;
    await pullTo(version);
  };

  /** Who has worked off the last burst may take its time with the next one. */
  const grantBurst = (upTo: bigint): void => {
    for (const subscriber of subscribers) if (subscriber.position >= subscriber.burst) subscriber.burst = upTo;
  };

  const giveUpSlow = (): void => {
    for (const subscriber of subscribers) {
      if (!subscriber.live || subscriber.ended !== undefined || read === undefined) continue;
      const from = subscriber.position > subscriber.burst ? subscriber.position : subscriber.burst;
      if (read - from <= BEHIND_EVENTS && ring.bytesAfter(from) <= BEHIND_BYTES) continue;
      subscriber.ended = "slow";
      subscriber.onSlow?.();
    }
  };

  const pull = async (upTo: bigint): Promise<void> => {
    while (read !== undefined && read < upTo) {
      const events = await source.read(tenant, stream, read, PAGE);
      if (events.length === 0) return;
      grantBurst(upTo);
      ring.hold(events);
      read = events.at(-1)?.seq ?? read;
      giveUpSlow();
      for (const subscriber of subscribers) subscriber.wake();
    }
  };

  /** One reading at a time, so that no event is held twice. */
  const pullTo = (version: bigint): Promise<void> => {
    if (read !== undefined && version <= read) return Promise.resolve();
    const after = reading.then(() => pull(version));
    reading = after.catch(() => undefined);
    return after;
  };

  /** The stream has reached this version: reads what is new, if it is. */
  const reached = (version: bigint): void => {
    if (read !== undefined) pullTo(version).catch(parts.onIssue);
  };

  /** The next events of a subscriber: from the ring, else from the table; none = it is at the end. */
  const next = async (position: bigint): Promise<readonly StreamEvent[] | "too_old"> => {
    if (read === undefined || position >= read) return [];
    const held = ring.after(position, AT_ONCE);
    if (held !== undefined) return held;
    const events = await source.read(tenant, stream, position, PAGE);
    if (events[0] !== undefined && events[0].seq !== position + 1n) return "too_old";
    return events;
  };

  async function* follow(subscriber: Subscriber, options: SubscribeOptions): AsyncGenerator<BusFrame> {
    await look();
    const head = read ?? 0n;
    const lost = lostReason(options.after, oldest, head);
    subscriber.position = options.after === undefined || lost !== undefined ? head : BigInt(options.after);
    const replaying = subscriber.position < head;
    yield { kind: "start", seq: subscriber.position, replaying };
    if (lost !== undefined) {
      parts.onResync(lost);
      yield { kind: "resync", seq: head, reason: lost };
    }
    for (let caughtUp = !replaying; subscriber.ended === undefined;) {
      const events = await next(subscriber.position);
      if (events === "too_old") {
        await look();
        subscriber.position = read ?? subscriber.position;
        parts.onResync("too_old");
        yield { kind: "resync", seq: subscriber.position, reason: "too_old" };
        continue;
      }
      for (const event of events) {
        if (options.seesAll || event.visibleTo === undefined || event.visibleTo.some((name) => options.names.has(name))) {
          yield { kind: "event", event };
          if (subscriber.ended !== undefined) break;
        }
        subscriber.position = event.seq;
      }
      if (events.length > 0) continue;
      if (!caughtUp) yield { kind: "caught_up", seq: subscriber.position };
      caughtUp = true;
      subscriber.live = true;
      if (subscriber.ended === undefined && subscriber.position >= (read ?? 0n)) {
        const woken = Promise.withResolvers<void>();
        subscriber.wake = woken.resolve;
        await woken.promise;
      }
    }
    const { ended } = subscriber as { ended: Subscriber["ended"] };
    if (ended === "slow" || ended === "drain") yield { kind: "bye", reason: ended };
  }

  const subscribe = (options: SubscribeOptions): Subscription => {
    const subscriber: Subscriber = {
      position: 0n,
      burst: 0n,
      live: false,
      ended: undefined,
      wake: () => undefined,
      onSlow: options.onSlow,
    };
    const leave = (): void => {
      subscriber.ended ??= "left";
      subscriber.wake();
    };
    return {
      get position() {
        return subscriber.position;
      },
      async *[Symbol.asyncIterator]() {
        if (options.signal?.aborted === true) return;
        options.signal?.addEventListener("abort", leave, { once: true });
        subscribers.add(subscriber);
        try {
          yield* follow(subscriber, options);
        } finally {
          options.signal?.removeEventListener("abort", leave);
          subscribers.delete(subscriber);
          if (subscribers.size === 0) parts.onEmpty();
        }
      },
    };
  };

  return {
    subscribe,
    reached,
    end: (): void => {
      for (const subscriber of subscribers) {
        subscriber.ended ??= "drain";
        subscriber.wake();
      }
    },
  };
};
