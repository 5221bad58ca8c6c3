import { Problem } from "#contract/problem.ts";
import { createLocalBuckets } from "#http/token-buckets.ts";

/** A bucket a caller: so many calls a second, twice as many at once. Throws `rate_limited`. */
export const createCallRate = (perSecond: number, now: () => Date): ((caller: string) => void) => {
  const buckets = createLocalBuckets(() => now().getTime());
  return (caller) => {
    if (!buckets.take(caller, { perSecond, burst: perSecond * 2 }).isAllowed)
      throw new Problem("rate_limited", { headers: { "retry-after": "1" } });
  };
};
