import { LRUCache } from "lru-cache";
import type { SessionChange, SessionRecord, SessionStore } from "./session-store.ts";

const MAX_RECORDS = 10_000;
const KEPT_MS = 5000;
/** From this age on a record in use is read anew while it still answers, at a moment of its own. */
const AHEAD_MS = 2000;
const SPREAD_MS = 2000;

interface Held {
  readonly record: SessionRecord;
  readonly at: number;
  /** When it is read ahead; put off while that runs. */
  aheadAt: number;
}

export interface CachedSessionStore extends SessionStore {
  /** Ends the cache's own listening. */
  stop(): Promise<void>;
}

const later = (one: Date, other: Date): Date => (one < other ? other : one);

const seen = (record: SessionRecord, lastSeenAt: Date, idleExpiresAt: Date): SessionRecord => ({
  ...record,
  lastSeenAt: later(record.lastSeenAt, lastSeenAt),
  idleExpiresAt: later(record.idleExpiresAt, idleExpiresAt),
});

/**
 * A hot cache of sessions before any store: 10,000 records for at most 5 s, emptied by the store's change feed and used
 * only while that is heard. A session that ended anywhere is gone here within the feed's delay, at most 5 s without it.
 * What is in use is read anew before its time is over, each session at its own moment, so that no request waits for it.
 */
export const createCachedSessionStore = async (store: SessionStore, now: () => Date): Promise<CachedSessionStore> => {
  const hashOf = new Map<string, string>();
  const byHash = new LRUCache<string, Held>({
    max: MAX_RECORDS,
    noDisposeOnSet: true,
    dispose: ({ record }) => void hashOf.delete(record.ref),
  });
  /** A read under way must not bring back what was forgotten while it ran. */
  let epoch = 0;

  const forget = (sidHash: string): void => void byHash.delete(sidHash);
  const received = (change: SessionChange): void => {
    epoch += 1;
    const sidHash = hashOf.get(change.ref);
    if (sidHash !== undefined) forget(sidHash);
  };
  const forgetAll = (): void => {
    epoch += 1;
    byHash.clear();
  };
  // What was told while nobody heard it may have been about any of them.
  const feed = await store.changes(received, forgetAll);

  const keep = (record: SessionRecord): void => {
    const at = now().getTime();
    byHash.set(record.sidHash, { record, at, aheadAt: at + AHEAD_MS + Math.random() * SPREAD_MS });
    hashOf.set(record.ref, record.sidHash);
  };

  const readAnew = async (sidHash: string): Promise<SessionRecord | undefined> => {
    const before = epoch;
    const record = await store.read(sidHash);
    forget(sidHash);
    if (record !== undefined && before === epoch && feed.isConnected()) keep(record);
    return record;
  };

  return {
    ...store,
    read: (sidHash) => {
      if (!feed.isConnected()) {
        if (byHash.size > 0) forgetAll();
        return store.read(sidHash);
      }
      const held = byHash.get(sidHash);
      const at = now().getTime();
      if (held === undefined || at - held.at >= KEPT_MS) return readAnew(sidHash);
      if (at >= held.aheadAt) {
        held.aheadAt = Infinity;
        // A store that does not answer is told to whoever comes when the record's time is over.
        readAnew(sidHash).catch(() => {});
      }
      return Promise.resolve(held.record);
    },
    lease: async (sidHash, ask) => {
      const answer = await store.lease(sidHash, ask);
      // Another process was faster; its change may still be on the way to us.
      if (answer.kind === "moved") forget(sidHash);
      return answer;
    },
    touch: async (sidHash, lastSeenAt, idleExpiresAt) => {
      // Seen from now on: what comes while it is written does not write it again, and nobody reads it anew for this.
      const held = byHash.get(sidHash);
      if (held !== undefined) byHash.set(sidHash, { ...held, record: seen(held.record, lastSeenAt, idleExpiresAt) });
      try {
        await store.touch(sidHash, lastSeenAt, idleExpiresAt);
      } catch (error) {
        forget(sidHash);
        throw error;
      }
    },
    stop: () => feed.stop(),
  };
};
