import { createHash } from "node:crypto";
import { redisScript, type Redis } from "#store/redis.ts";
import type { RateBuckets, Taken } from "#http/token-buckets.ts";

/**
 * `stepBucket` on Redis, by Redis' own clock: all replicas share one bucket, and no two requests read the same token.
 * The key lives as long as the bucket is not full.
 */
const step = redisScript(
  "rate_limit",
  `
local per_token = 1000 / tonumber(ARGV[1])
local burst = tonumber(ARGV[2])
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + tonumber(time[2]) / 1000
local from = tonumber(redis.call('GET', KEYS[1]) or now)
if from < now then from = now end
local full_at = from + per_token
local room = now + per_token * burst - full_at
if room < -0.001 then return { 0, 0, string.format('%.3f', -room) } end
redis.call('SET', KEYS[1], string.format('%.3f', full_at), 'PX', math.ceil(full_at - now) + 1)
local remaining = math.floor((room + 0.001) / per_token)
local wait = 0
if remaining == 0 then wait = per_token - room end
return { 1, remaining, string.format('%.3f', wait) }
`,
);

const asTaken = (answer: unknown): Taken => {
  if (!Array.isArray(answer) || answer.length !== 3) throw new TypeError("the script answered something else");
  const [allowed, remaining, wait] = answer.map(Number);
  return { isAllowed: allowed === 1, remaining: remaining ?? 0, retryAfterMs: wait ?? 0 };
};

/** Who asked is nobody's business at Redis. */
const hidden = (key: string): string => createHash("sha256").update(key).digest("base64url").slice(0, 32);

/** Buckets that all replicas share. Rejects when Redis is lost. */
export const createRedisBuckets = (redis: Pick<Redis, "script">, prefix = "sallyport:rate:"): RateBuckets => ({
  take: async (key, rate) => asTaken(await redis.script(step, [prefix + hidden(key)], [rate.perSecond, rate.burst])),
});

/**
 * Shared buckets while they answer, this process's own otherwise: a lost Redis neither lets all through nor refuses all. After a
 * failure the shared ones are left alone for a second, so that no request waits for what is known to be gone.
 */
export const createFallbackBuckets = (
  shared: RateBuckets,
  local: RateBuckets,
  parts: { readonly onLost: (cause: unknown) => void; readonly now?: () => number },
): RateBuckets => {
  const now = parts.now ?? (() => performance.now());
  let restUntil = -Infinity;
  return {
    take: async (key, rate) => {
      if (now() < restUntil) return local.take(key, rate);
      try {
        return await shared.take(key, rate);
      } catch (cause) {
        restUntil = now() + 1000;
        parts.onLost(cause);
        return local.take(key, rate);
      }
    },
  };
};
