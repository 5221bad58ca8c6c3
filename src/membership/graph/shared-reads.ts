import { Problem } from "#contract/problem.ts";
import { createTtlCache } from "#http/ttl-cache.ts";

/**
 * Reads by a key, as many at once as ask: those that ask for it while it is being read share the next read, one that begins after all of
 * them, and is as true for each as one of its own.
 */
export const createSharedReads = <T>(read: (key: string) => Promise<T>): ((key: string) => Promise<T>) => {
  const underWay = new Map<string, { readonly value: Promise<T>; next?: Promise<T> }>();
  const begin = (key: string): Promise<T> => {
    const reading: { readonly value: Promise<T>; next?: Promise<T> } = { value: read(key) };
    underWay.set(key, reading);
    const end = (): void => {
      if (underWay.get(key) === reading) underWay.delete(key);
    };
    reading.value.then(end, end);
    return reading.value;
  };
  return (key) => {
    const reading = underWay.get(key);
    if (reading === undefined) return begin(key);
    const after = (): Promise<T> => begin(key);
    reading.next ??= reading.value.then(after, after);
    return reading.next;
  };
};

/** How long what was known of a key stands in while the database is away, for how many. */
const KEPT_MS = 300_000;
const MAX_KEPT = 2000;

/**
 * The same of the database; while it is away, when nothing there can change either, what was last known of a key counts for five minutes.
 */
export const createKnownReads = <T>(readKey: (key: string) => Promise<T>, now: () => Date): ((key: string) => Promise<T>) => {
  const recent = createTtlCache<{ readonly value: T }>(MAX_KEPT, now);
  const read = createSharedReads(readKey);
  return async (key) => {
    try {
      const value = await read(key);
      recent.set(key, { value }, now().getTime() + KEPT_MS);
      return value;
    } catch (error) {
      const known = error instanceof Problem && error.code === "store_unavailable" ? recent.get(key) : undefined;
      if (known === undefined) throw error;
      return known.value;
    }
  };
};
