import { z } from "zod";
import { duration } from "#crud/documents/duration.ts";

/** How hard a system may be asked, how often again, and how much it may answer; for a whole system or one operation. */

export const retry = z.strictObject({
  max: z.int().min(0).max(5).default(2),
  base: duration(10, 10_000).prefault("PT0.2S"),
  cap: duration(10, 60_000).prefault("PT5S"),
  on: z.array(z.literal("network").or(z.int().min(400).max(599))).default([429, 502, 503, 504, "network"]),
  onlyIdempotent: z.literal(true, { error: "only idempotent operations are tried again" }).default(true),
  honourRetryAfter: z.boolean().default(true),
});
export const rateLimit = z.strictObject({
  rate: z.number().positive().max(100_000),
  per: z.enum(["second", "minute", "hour"]),
  burst: z.int().min(1).max(100_000),
  key: z.enum(["system", "tenant", "principal"]).default("tenant"),
});
export const concurrency = z.strictObject({
  max: z.int().min(1).max(1000),
  queue: z.int().min(0).max(10_000).default(64),
  wait: duration(1, 60_000).prefault("PT2S"),
});
export const circuit = z.strictObject({
  failures: z.int().min(1).max(10_000).default(20),
  window: duration(100, 600_000).prefault("PT30S"),
  open: duration(100, 600_000).prefault("PT15S"),
});
export const responseLimits = z.strictObject({
  maxBytes: z.int().min(1).max(16_777_216).default(262_144),
  onExceed: z.literal("error", { error: "only error is available" }).default("error"),
});

export type RetryRules = z.output<typeof retry>;
export type RateLimitRules = z.output<typeof rateLimit>;
export type ConcurrencyRules = z.output<typeof concurrency>;
export type CircuitRules = z.output<typeof circuit>;
