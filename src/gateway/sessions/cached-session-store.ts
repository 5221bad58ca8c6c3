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

  return {
    ...store,
    read: async (sidHash) => {
      if (!feed.isConnected()) {
        if (byHash.size > 0) forgetAll();
        return store.read(sidHash);
      }
      const held = byHash.get(sidHash);
      if (held !== undefined && now().getTime() - held.at < KEPT_MS) return held.record;
      const before = epoch;
      const record = await store.read(sidHash);
      forget(sidHash);
      if (record !== undefined && before === epoch && feed.isConnected()) keep(record);
      return record;
    },
    lease: async (sidHash, ask) => {
      const answer = await store.lease(sidHash, ask);
      // Another process was faster; its change may still be on the way to us.
      if (answer.kind === "moved") forget(sidHash);
      return answer;
    },
    touch: async (sidHash, lastSeenAt, idleExpiresAt) => {
      await store.touch(sidHash, lastSeenAt, idleExpiresAt);
      forget(sidHash);
    },
    stop: () => feed.stop(),
  };
};
