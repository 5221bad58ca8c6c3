import { health, healthLive, healthReady, healthRedis } from "#contract/health.ts";
import type { BuiltInHandler } from "#gateway/built-in.ts";
import { reply } from "#gateway/reply.ts";
import type { SessionStore } from "#gateway/sessions/session-store.ts";
import type { HealthChecks } from "./health-checks.ts";

export interface HealthParts {
  readonly checks: HealthChecks;
  readonly store: Pick<SessionStore, "ready">;
  readonly isDraining: () => boolean;
  readonly version: string;
  readonly now: () => Date;
}

const redis = { status: "not_configured", configured: false } as const;

/**
 * Health of the gateway. Without the session store it is unhealthy, for nobody is signed in; a provider, decision point or
 * service that is down makes it degraded, for the rest goes on. Readiness says only what a load balancer must know.
 */
export const createHealth = (parts: HealthParts): Readonly<Record<"overall" | "redis" | "live" | "ready", BuiltInHandler>> => {
  const startedAt = performance.now();
  return {
    overall: async () => {
      const checks = await parts.checks.all();
      const isDown = (name: string): boolean => checks[name]?.status === "down";
      const status = isDown("database") ? "unhealthy" : Object.keys(checks).some(isDown) ? "degraded" : "healthy";
      const value = { status, version: parts.version, timestamp: parts.now().toISOString(), redis, checks: { ...checks, redis } } as const;
      return reply(health, value, status === "unhealthy" ? { status: 503, headers: { "retry-after": "5" } } : {});
    },
    redis: async () => reply(healthRedis, redis),
    live: async () => reply(healthLive, { status: "alive", uptime_s: Math.floor((performance.now() - startedAt) / 1000) }),
    ready: async () => {
      const reasons: string[] = [];
      if (parts.isDraining()) reasons.push("draining");
      await parts.store.ready().catch(() => reasons.push("session_store"));
      if (reasons.length === 0) return reply(healthReady, { status: "ready" });
      return reply(healthReady, { status: "not_ready", reasons }, { status: 503, headers: { "retry-after": "5" } });
    },
  };
};
