import { z } from "zod";
import { startInterval } from "#http/interval.ts";
import type { EndReason, SessionChange, SessionFeed, SessionRecord } from "./session-store.ts";

/** What carries changes between processes; a message is heard by every process, the sender's own among them. */
export interface ChangeCarrier {
  publish(message: string): Promise<void>;
  /** `regained`: messages may have been missed before now. */
  subscribe(received: (message: string) => void, regained: () => void): Promise<() => Promise<void>>;
  /** Whether messages are heard now, as far as this end can tell. */
  isConnected(): boolean;
  /** True: only this process is there, so there is nobody else to hear. */
  readonly isAlone: boolean;
}

const HEARTBEAT_MS = 1000;
const FRESH_MS = 3000;

const message = z.union([
  z.object({ beat: z.literal(true) }),
  z.object({ ref: z.string(), kind: z.enum(["ended", "changed"]), reason: z.string().optional() }),
]);

export interface ChangeFeed {
  /** Tells this process at once; others hear it from the carrier, where the store itself has put it. */
  spread(changes: readonly SessionChange[]): void;
  /** The same of sessions that have ended. */
  spreadEnds(records: readonly SessionRecord[], reasonOf: (record: SessionRecord) => EndReason): void;
  changes(received: (change: SessionChange) => void, regained?: () => void): Promise<SessionFeed>;
}

/**
 * Session changes of every process. This process hears its own at once, and once more from the carrier: hearing twice
 * does no harm. A heartbeat goes round through the carrier: when it was not heard for 3 s, or the carrier knows that it is
 * cut off, no cache is trusted.
 */
export const createChangeFeed = (carrier: ChangeCarrier): ChangeFeed => {
  const listeners = new Set<(change: SessionChange) => void>();
  const spread: ChangeFeed["spread"] = (changes) => {
    for (const change of changes) for (const listener of listeners) listener(change);
  };
  return {
    spread,
    spreadEnds: (records, reasonOf) => spread(records.map((record) => ({ ref: record.ref, kind: "ended", reason: reasonOf(record) }))),
    changes: async (received, regained = () => {}) => {
      listeners.add(received);
      let receivedAt = performance.now();
      const stop = await carrier.subscribe((payload) => {
        receivedAt = performance.now();
        const read = message.safeParse(parse(payload));
        if (!read.success || "beat" in read.data) return;
        received(read.data as SessionChange);
      }, regained);
      const work = (): Promise<void> => carrier.publish('{"beat":true}');
      const beat = carrier.isAlone ? undefined : startInterval({ everyMs: HEARTBEAT_MS, work, failed: () => undefined });
      return {
        isConnected: () => carrier.isConnected() && (beat === undefined || performance.now() - receivedAt < FRESH_MS),
        stop: async () => {
          listeners.delete(received);
          await beat?.[Symbol.asyncDispose]();
          await stop();
        },
      };
    },
  };
};

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};
