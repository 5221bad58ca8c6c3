import type { SessionChange, SessionRecord, SessionStore } from "./session-store.ts";

const MAX_RECORDS = 10_000;
const KEPT_MS = 5000;

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
 */
export const createCachedSessionStore = async (store: SessionStore, now: () => Date): Promise<CachedSessionStore> => {
  const byHash = new Map<string, { readonly record: SessionRecord; readonly at: number }>();
  const hashOf = new Map<string, string>();
  /** A read under way must not bring back what was forgotten while it ran. */
  let epoch = 0;

  const forget = (sidHash: string): void => {
    const held = byHash.get(sidHash);
    if (held === undefined) return;
    byHash.delete(sidHash);
    hashOf.delete(held.record.ref);
  };
  const heard = (change: SessionChange): void => {
    epoch += 1;
    const sidHash = hashOf.get(change.ref);
    if (sidHash !== undefined) forget(sidHash);
  };
  const forgetAll = (): void => {
    epoch += 1;
    byHash.clear();
    hashOf.clear();
  };
  // What was told while nobody heard it may have been about any of them.
  const feed = await store.changes(heard, forgetAll);

  const keep = (record: SessionRecord): void => {
    forget(record.sidHash);
    byHash.set(record.sidHash, { record, at: now().getTime() });
    hashOf.set(record.ref, record.sidHash);
    if (byHash.size <= MAX_RECORDS) return;
    const [oldest] = byHash.keys();
    if (oldest !== undefined) forget(oldest);
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
      return held !== undefined && now().getTime() - held.at < KEPT_MS ? Promise.resolve(held.record) : readAnew(sidHash);
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
      if (held !== undefined) byHash.set(sidHash, { at: held.at, record: seen(held.record, lastSeenAt, idleExpiresAt) });
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
