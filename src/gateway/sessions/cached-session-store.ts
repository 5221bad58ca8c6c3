import type { SessionChange, SessionRecord, SessionStore } from "./session-store.ts";

const MAX_RECORDS = 10_000;
const KEPT_MS = 5000;

export interface CachedSessionStore extends SessionStore {
  /** Ends the cache's own listening. */
  stop(): Promise<void>;
}

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
  const feed = await store.changes(heard);

  const keep = (record: SessionRecord): void => {
    forget(record.sidHash);
    byHash.set(record.sidHash, { record, at: now().getTime() });
    hashOf.set(record.ref, record.sidHash);
    if (byHash.size <= MAX_RECORDS) return;
    const [oldest] = byHash.keys();
    if (oldest !== undefined) forget(oldest);
  };

  return {
    ...store,
    read: async (sidHash) => {
      const held = byHash.get(sidHash);
      if (held !== undefined && feed.isConnected() && now().getTime() - held.at < KEPT_MS) return held.record;
      const before = epoch;
      const record = await store.read(sidHash);
      forget(sidHash);
      if (record !== undefined && before === epoch) keep(record);
      return record;
    },
    touch: async (sidHash, lastSeenAt, idleExpiresAt) => {
      await store.touch(sidHash, lastSeenAt, idleExpiresAt);
      forget(sidHash);
    },
    stop: () => feed.stop(),
  };
};
