import { LRUCache } from "lru-cache";

/** Remembers answers for a short while, at most so many; what was not asked for longest goes first. */
export interface Recent<V> {
  get(key: string): V | undefined;
  /** Nothing is kept where the end has come already. */
  set(key: string, value: V, untilMs: number): void;
}

export const createRecent = <V extends object>(most: number, now: () => Date): Recent<V> => {
  const clock = (): number => now().getTime();
  const held = new LRUCache<string, V>({ max: most, ttlResolution: 0, perf: { now: clock } });
  return {
    get: (key) => held.get(key),
    set: (key, value, untilMs) => {
      // The library keeps what it holds through the last millisecond, and for ever where the time is 0.
      const ttl = untilMs - clock() - 1;
      if (ttl > 0) held.set(key, value, { ttl });
      else held.delete(key);
    },
  };
};
