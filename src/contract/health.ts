import { z } from "zod";
import { endpoint } from "./endpoint.ts";
import { timestamp } from "./ids.ts";

/** Health and metrics of the gateway. */

const check = z.strictObject({
  /** `degraded`: it answers, and a part of its work cannot be done. */
  status: z.enum(["up", "degraded", "down", "not_configured"]),
  latency_ms: z.number(),
  since: timestamp,
  /** What the part itself says that it lacks, e.g. `decision_point` of the pdp, `vaulta+kv2:sealed` of secrets. */
  reasons: z.array(z.string()).optional(),
});

export const health = endpoint("gateway", "GET", "/api/v1/health", {
  reply: z.strictObject({
    status: z.enum(["healthy", "degraded", "unhealthy"]),
    version: z.string(),
    timestamp,
    redis: check.omit({ since: true, reasons: true }),
    checks: z.record(z.string(), check),
  }),
  moreStatuses: [503],
  auth: "none",
  summary: "Overall health with component checks; 503 when unhealthy.",
});

export const healthRedis = endpoint("gateway", "GET", "/api/v1/health/redis", {
  reply: z.strictObject({
    ...check.omit({ since: true, reasons: true }).shape,
    configured: z.boolean(),
    /** Whether the ends of sessions in other processes are heard now. */
    change_feed: z.enum(["up", "down"]),
  }),
  moreStatuses: [503],
  auth: "none",
  summary: "State of Redis, or that it is not configured.",
});

export const healthLive = endpoint("gateway", "GET", "/api/v1/health/live", {
  reply: z.strictObject({ status: z.literal("alive"), uptime_s: z.number() }),
  auth: "none",
  summary: "The process lives.",
});

export const healthReady = endpoint("gateway", "GET", "/api/v1/health/ready", {
  reply: z.strictObject({
    status: z.enum(["ready", "not_ready"]),
    reasons: z.array(z.enum(["draining", "session_store", "redis"])).optional(),
  }),
  moreStatuses: [503],
  auth: "none",
  summary: "503 when the session store does not answer or Sallyport is draining.",
});

const MAX_KEY = 128;
const clientEvent = z.strictObject({
  event: z.string().regex(/^[a-z][a-z0-9_.]{0,63}$/, "must be 1-64 of a-z 0-9 _ . and begin with a letter"),
  value: z.number().optional(),
  attributes: z
    .record(z.string().max(MAX_KEY), z.unknown())
    .refine((value) => Object.keys(value).length <= 20, "has more than 20 attributes")
    .meta({ maxProperties: 20 })
    .optional(),
});
export const metricsReport = z.union([clientEvent, z.strictObject({ events: z.array(clientEvent).min(1).max(50) })]);

export const ingestMetrics = endpoint("gateway", "POST", "/api/v1/metrics", {
  body: metricsReport,
  reply: z.object({ accepted: z.number().int() }),
  status: 202,
  auth: "none",
  problems: ["sensitive_key", "csrf_failed"],
  summary: "Client metrics: bff_public_metrics_total{event}.",
});

export const streamHealth = endpoint("gateway", "GET", "/api/v1/stream/health", {
  reply: z.object({
    status: z.enum(["healthy", "degraded", "unhealthy"]),
    at: timestamp,
    bus: z.object({ mode: z.enum(["embedded", "listen"]), fresh: z.boolean() }),
    upstreams: z.record(z.string(), z.enum(["up", "down"])),
    clients: z.object({ open: z.number().int(), limit: z.number().int() }),
    streams: z.array(z.object({ name: z.string(), head: z.number().int() })),
  }),
  moreMedia: ["text/event-stream"],
  auth: "session",
  decision: "streams/config",
  summary: "Whether live streams tell the truth now; with Accept: text/event-stream the same as an event each 15 s.",
});
