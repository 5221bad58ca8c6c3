import { LRUCache } from "lru-cache";

/** Remembers answers for a short while, at most so many; what was not asked for longest goes first. */
export interface TtlCache<V> {
  get(key: string): V | undefined;
  /** Nothing is kept where the end has come already. */
  set(key: string, value: V, untilMs: number): void;
}

interface Held<V> {
  readonly value: V;
  /** Milliseconds since 1970. */
  readonly untilMs: number;
}

export const createTtlCache = <V extends object>(max: number, now: () => Date): TtlCache<V> => {
  // Not by the library's own times: it keeps through the last millisecond, for ever where the time is 0, and reads the clock with each call.
  const held = new LRUCache<string, Held<V>>({ max: max });
  return {
    get: (key) => {
      const found = held.get(key);
      if (found === undefined || now().getTime() < found.untilMs) return found?.value;
      held.delete(key);
      return undefined;
    },
    set: (key, value, untilMs) => {
      if (now().getTime() < untilMs) held.set(key, { value, untilMs });
      else held.delete(key);
    },
  };
};
