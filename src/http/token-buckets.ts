/** So many a second in the long run, and so many at once. */
export interface Rate {
  readonly perSecond: number;
  readonly burst: number;
}

/** Whether one more request fits. */
export interface Taken {
  readonly isAllowed: boolean;
  /** Requests that would still fit at once. */
  readonly remaining: number;
  /** Milliseconds until one more fits; 0 while one does. */
  readonly retryAfterMs: number;
}

/** Token buckets by key. A bucket that nobody used is full. */
export interface RateBuckets {
  /** Takes one token of the key's bucket, or says when there is one. Refused requests cost nothing. */
  take(key: string, rate: Rate): Taken | Promise<Taken>;
}

/** Buckets that know at once. */
export interface LocalBuckets extends RateBuckets {
  take(key: string, rate: Rate): Taken;
  readonly size: number;
}

/**
 * One step of a bucket held as one number: the time at which it is full again (GCRA, the leaky bucket as a meter). `now`
 * and the result are in milliseconds of the same clock.
 */
export const stepBucket = (fullAt: number | undefined, rate: Rate, now: number): Taken & { readonly fullAt: number } => {
  const perToken = 1000 / rate.perSecond;
  const from = Math.max(fullAt ?? now, now);
  const next = from + perToken;
  const capacity = now + perToken * rate.burst - next;
  // Rounding of the clock's fractions must not cost a token.
  if (capacity < -0.001) return { isAllowed: false, remaining: 0, retryAfterMs: -capacity, fullAt: from };
  const remaining = Math.floor((capacity + 0.001) / perToken);
  return { isAllowed: true, remaining, retryAfterMs: remaining > 0 ? 0 : perToken - capacity, fullAt: next };
};

/** Most buckets that one process keeps; a full bucket is no bucket, so only clients of the last moments count. */
const MAX = 100_000;

/** Changed in its place: a new one for each request would make work for the collector of garbage. */
interface Bucket {
  fullAt: number;
  /** When it was put at the end of the row. */
  readonly placedAt: number;
}

/** A bucket in use goes to the end of the row so often: which was touched longest ago is known to this. */
const PLACE_MS = 2000;

/** Buckets of this process alone. `now` is monotonic, in milliseconds. */
export const createLocalBuckets = (now: () => number = () => performance.now()): LocalBuckets => {
  const buckets = new Map<string, Bucket>();
  const prune = (at: number): void => {
    for (const [key, { fullAt }] of buckets) if (fullAt <= at) buckets.delete(key);
    // All of them in use: the ones that were touched longest ago go first, so many at once that this stays rare.
    for (const key of buckets.keys()) {
      if (buckets.size < MAX * 0.9) return;
      buckets.delete(key);
    }
  };
  return {
    take: (key, rate) => {
      const at = now();
      const held = buckets.get(key);
      const taken = stepBucket(held?.fullAt, rate, at);
      if (!taken.isAllowed) return taken;
      if (held !== undefined && at - held.placedAt < PLACE_MS) {
        held.fullAt = taken.fullAt;
        return taken;
      }
      buckets.delete(key);
      if (buckets.size >= MAX) prune(at);
      buckets.set(key, { fullAt: taken.fullAt, placedAt: at });
      return taken;
    },
    get size() {
      return buckets.size;
    },
  };
};
