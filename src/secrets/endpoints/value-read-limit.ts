import { Problem } from "#contract/problem.ts";
import { createLocalBuckets } from "#http/token-buckets.ts";

/** Counts reads of values by caller; throws `rate_limited` (429) beyond the limit a minute. State is this process's. */
export const createValueReadLimit = (parts: { readonly perMinute: number; readonly now: () => Date }): ((caller: string) => void) => {
  const buckets = createLocalBuckets(() => parts.now().getTime());
  return (caller) => {
    const { isAllowed, retryAfterMs } = buckets.take(caller, { perSecond: parts.perMinute / 60, burst: parts.perMinute });
    if (!isAllowed) throw new Problem("rate_limited", { headers: { "retry-after": String(Math.max(1, Math.ceil(retryAfterMs / 1000))) } });
  };
};
