import { health, healthLive, healthReady, healthRedis } from "#contract/health.ts";
import type { BuiltInHandler } from "#gateway/built-in.ts";
import { reply } from "#gateway/reply.ts";
import type { SessionStore } from "#gateway/sessions/session-store.ts";
import type { CheckState, HealthChecks } from "./health-checks.ts";
import { createKeptAnswer } from "./kept-answer.ts";

export interface HealthParts {
  readonly checks: HealthChecks;
  readonly store: Pick<SessionStore, "ready">;
  /** Absent: no Redis is configured. */
  readonly redis?: { ready(): Promise<void> };
  readonly hearsChanges: () => boolean;
  readonly isDraining: () => boolean;
  readonly version: string;
  readonly now: () => Date;
}

const TIMEOUT_MS = 2000;
/** Anybody may ask, and is never shed: so often the stores are asked at most, however many ask us. */
const READY_KEPT = { goodMs: 500, failedMs: 500, whileFailed: "failure" } as const;

/** A probe wants its answer soon: what does not answer by then is down. */
const within = (work: Promise<void>): Promise<void> => {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error("it does not answer")), TIMEOUT_MS);
  });
  return Promise.race([work, late]).finally(() => clearTimeout(timer));
};

/**
 * Health of the gateway. Without the session store it is unhealthy, for nobody is signed in; a provider, decision point or
 * service that is down makes it degraded, for the rest goes on. Readiness says only what a load balancer must know.
 */
export const createHealth = (parts: HealthParts): Readonly<Record<"overall" | "redis" | "live" | "ready", BuiltInHandler>> => {
  const startedAt = performance.now();
  const noRedis: CheckState = { status: "not_configured", latency_ms: 0, since: parts.now().toISOString() };
  const { redis } = parts;
  const asked = (ready: () => Promise<void>) => createKeptAnswer(ready, READY_KEPT, () => performance.now());
  const storeReady = asked(() => parts.store.ready());
  const redisReady = redis === undefined ? undefined : asked(() => redis.ready());
  return {
    overall: async () => {
      const checks = await parts.checks.all();
      const redis = checks["redis"] ?? noRedis;
      const isDown = (name: string): boolean => checks[name]?.status === "down";
      const status = isDown("database") || isDown("redis") ? "unhealthy" : Object.keys(checks).some(isDown) ? "degraded" : "healthy";
      const value = {
        status,
        version: parts.version,
        timestamp: parts.now().toISOString(),
        redis: { status: redis.status, latency_ms: redis.latency_ms },
        checks: { ...checks, redis },
      } as const;
      return reply(health, value, status === "unhealthy" ? { status: 503, headers: { "retry-after": "5" } } : {});
    },
    redis: async () => {
      const configured = parts.redis !== undefined;
      const { status, latency_ms } = configured ? ((await parts.checks.all())["redis"] ?? noRedis) : noRedis;
      const value = { status, configured, latency_ms, change_feed: parts.hearsChanges() ? "up" : "down" } as const;
      return reply(healthRedis, value, status === "down" ? { status: 503, headers: { "retry-after": "5" } } : {});
    },
    live: async () => reply(healthLive, { status: "alive", uptime_s: Math.floor((performance.now() - startedAt) / 1000) }),
    ready: async () => {
      const reasons: ("draining" | "session_store" | "redis")[] = [];
      if (parts.isDraining()) reasons.push("draining");
      await within(storeReady()).catch(() => reasons.push("session_store"));
      if (redisReady !== undefined) await within(redisReady()).catch(() => reasons.push("redis"));
      if (reasons.length === 0) return reply(healthReady, { status: "ready" });
      return reply(healthReady, { status: "not_ready", reasons }, { status: 503, headers: { "retry-after": "5" } });
    },
  };
};
