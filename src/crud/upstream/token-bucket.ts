import type { RateLimitRules } from "#crud/systems/system-limits.ts";

const PER_MS = { second: 1000, minute: 60_000, hour: 3_600_000 } as const;
/** Most keys remembered; the longest unused is forgotten, which only gives it a full bucket again. */
const MAX_KEYS = 10_000;

/** Takes one token of a key's bucket: 0 if there was one, else the milliseconds until there is. */
export const createTokenBucket = (rules: RateLimitRules, now: () => Date): ((key: string) => number) => {
  const buckets = new Map<string, { tokens: number; at: number }>();
  const perMs = rules.rate / PER_MS[rules.per];
  return (key) => {
    const at = now().getTime();
    const held = buckets.get(key) ?? { tokens: rules.burst, at };
    const tokens = Math.min(rules.burst, held.tokens + Math.max(0, at - held.at) * perMs);
    buckets.delete(key);
    buckets.set(key, { tokens: tokens >= 1 ? tokens - 1 : tokens, at });
    if (buckets.size > MAX_KEYS) buckets.delete(buckets.keys().next().value ?? "");
    return tokens >= 1 ? 0 : Math.ceil((1 - tokens) / perMs);
  };
};
