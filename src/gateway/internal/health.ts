import { health, healthLive, healthReady, healthRedis } from "#contract/health.ts";
import type { BuiltInHandler } from "#gateway/steps/built-in.ts";
import { reply } from "#gateway/model/reply.ts";
import type { CheckState, HealthChecks } from "./health-checks.ts";

export interface HealthParts {
  /** `database`, and `redis` where one is configured: what health and readiness say of them is one answer. */
  readonly stores: HealthChecks;
  /** The one of them that keeps the sessions. */
  readonly sessionStore: "database" | "redis";
  /** The provider and the services: without one of them the rest goes on. */
  readonly others: HealthChecks;
  readonly hasRedis: boolean;
  readonly hearsChanges: () => boolean;
  readonly isDraining: () => boolean;
  readonly version: string;
  readonly now: () => Date;
}

/**
 * Health of the gateway. Without the session store it is unhealthy, for nobody is signed in; a provider, decision point or
 * service that is down, or cannot do all of its work, makes it degraded, for the rest goes on. Readiness says only what a load balancer must know.
 */
export const createHealth = (parts: HealthParts): Readonly<Record<"overall" | "redis" | "live" | "ready", BuiltInHandler>> => {
  const startedAt = performance.now();
  const noRedis: CheckState = { status: "not_configured", latency_ms: 0, since: parts.now().toISOString() };
  const unhealthy = { status: 503, headers: { "retry-after": "5" } } as const;
  return {
    overall: async () => {
      const [{ redis = noRedis, ...stores }, others] = await Promise.all([parts.stores(), parts.others()]);
      const isDown = (state: CheckState | undefined): boolean => state?.status === "down";
      const isLost = [redis, ...Object.values(stores)].some(isDown);
      const isPoor = Object.values(others).some((state) => isDown(state) || state.status === "degraded");
      const status = isLost ? "unhealthy" : isPoor ? "degraded" : "healthy";
      const value = {
        status,
        version: parts.version,
        timestamp: parts.now().toISOString(),
        redis: { status: redis.status, latency_ms: redis.latency_ms },
        checks: { redis, ...stores, ...others },
      } as const;
      return reply(health, value, isLost ? unhealthy : {});
    },
    redis: async () => {
      const { status, latency_ms } = (await parts.stores())["redis"] ?? noRedis;
      const value = { status, configured: parts.hasRedis, latency_ms, change_feed: parts.hearsChanges() ? "up" : "down" } as const;
      return reply(healthRedis, value, status === "down" ? unhealthy : {});
    },
    live: async () => reply(healthLive, { status: "alive", uptime_s: Math.floor((performance.now() - startedAt) / 1000) }),
    ready: async () => {
      const reasons: ("draining" | "session_store" | "redis")[] = [];
      if (parts.isDraining()) reasons.push("draining");
      const stores = await parts.stores();
      if (stores[parts.sessionStore]?.status === "down") reasons.push("session_store");
      if (stores["redis"]?.status === "down") reasons.push("redis");
      if (reasons.length === 0) return reply(healthReady, { status: "ready" });
      return reply(healthReady, { status: "not_ready", reasons }, unhealthy);
    },
  };
};
