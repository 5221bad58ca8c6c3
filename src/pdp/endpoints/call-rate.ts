import { Problem } from "#contract/problem.ts";

const MOST_CALLERS = 10_000;

/** A bucket a caller: so many calls a second, twice as many at once. Throws `rate_limited`. */
export const createCallRate = (perSecond: number, now: () => Date): ((caller: string) => void) => {
  const buckets = new Map<string, { left: number; at: number }>();
  const burst = perSecond * 2;
  return (caller) => {
    const at = now().getTime();
    if (buckets.size >= MOST_CALLERS && !buckets.has(caller)) buckets.clear();
    const bucket = buckets.get(caller) ?? { left: burst, at };
    buckets.set(caller, bucket);
    bucket.left = Math.min(burst, bucket.left + ((at - bucket.at) / 1000) * perSecond);
    bucket.at = at;
    if (bucket.left < 1) throw new Problem("rate_limited", { headers: { "retry-after": "1" } });
    bucket.left -= 1;
  };
};
