import { z } from "zod";
import { duration } from "#crud/documents/duration.ts";
import { said } from "#parsing/said.ts";

/** How hard a system may be asked, how often again, and how much it may answer; for a whole system or one operation. */

export const retry = z.strictObject({
  max: said(z.int().min(0).max(5).default(2), "Most tries after the first.", 3),
  base: said(duration(10, 10_000).prefault("PT0.2S"), "Longest wait before the second try; it doubles with each further one.", "PT0.5S"),
  cap: said(duration(10, 60_000).prefault("PT5S"), "Longest wait between two tries.", "PT10S"),
  on: said(
    z
      .array(
        z
          .literal("network")
          .or(z.int().min(400).max(599))
          .meta({ description: "An HTTP status, or `network` for a connection that failed." }),
      )
      .default([429, 502, 503, 504, "network"]),
    "What is tried again.",
    [503, "network"],
  ),
  onlyIdempotent: said(
    z.literal(true, { error: "only idempotent operations are tried again" }).default(true),
    "Only reads, and what `idempotentHint` or `idempotencyHeader` makes safe, are tried again.",
    true,
  ),
  honourRetryAfter: said(z.boolean().default(true), "Waits at least as long as the upstream asks, up to `cap`.", false),
});
export const rateLimit = z.strictObject({
  rate: said(z.number().positive().max(100_000), "So many calls in each `per`.", 50),
  per: said(z.enum(["second", "minute", "hour"]), "The time that `rate` is of.", "minute"),
  burst: said(z.int().min(1).max(100_000), "Calls that may come at once.", 100),
  key: said(z.enum(["system", "tenant", "principal"]).default("tenant"), "Whose calls are counted together.", "principal"),
});
export const concurrency = z.strictObject({
  max: said(z.int().min(1).max(1000), "Calls of a tenant that are under way at once.", 16),
  queue: said(z.int().min(0).max(10_000).default(64), "Further calls that wait; beyond them `overloaded`.", 256),
  wait: said(duration(1, 60_000).prefault("PT2S"), "Longest wait for a place; then `overloaded`.", "PT1S"),
});
export const circuit = z.strictObject({
  failures: said(z.int().min(1).max(10_000).default(20), "Failures of a tenant's calls within `window` that open the circuit.", 10),
  window: said(duration(100, 600_000).prefault("PT30S"), "The time in which failures count.", "PT1M"),
  open: said(duration(100, 600_000).prefault("PT15S"), "How long nothing is sent once it is open; then one call tries.", "PT30S"),
});
export const responseLimits = z.strictObject({
  maxBytes: said(
    z.int().min(1).max(16_777_216).default(262_144),
    "Most bytes of an answer, unpacked; beyond them what `onExceed` says.",
    1_048_576,
  ),
  onExceed: said(
    z.enum(["error", "truncate"]).default("error"),
    "What becomes of a larger answer: it is refused (`output_too_large`); or, over HTTP, of its list so many whole items are given as fit, with `truncated` and a `next_cursor`, which a further call takes as `cursor`. The list is where the rows lie, or the only list among its members, or the answer itself, which is then given as `items`; what the upstream answers may then have 2 MiB, or `maxBytes` where that is more.",
    "truncate",
  ),
});

export type RetryRules = z.output<typeof retry>;
export type RateLimitRules = z.output<typeof rateLimit>;
export type ConcurrencyRules = z.output<typeof concurrency>;
export type CircuitRules = z.output<typeof circuit>;
