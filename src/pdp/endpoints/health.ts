import { Problem } from "#contract/problem.ts";
import type { Router } from "#http/serve.ts";
import type { Caller } from "#authn/caller.ts";
import type { Metrics } from "#telemetry/metrics.ts";

const json = (status: number, body: unknown): Response =>
  new Response(JSON.stringify(body), { status, headers: { "content-type": "application/json", "cache-control": "no-store" } });

/** Liveness, readiness and metrics, for orchestrators and scrapers: no credential. */
export const serveHealth = (
  router: Router<Caller>,
  parts: {
    readonly ready: () => Promise<readonly string[]>;
    readonly disabled: boolean;
    readonly version: () => string;
    readonly metrics: Metrics;
  },
): void => {
  router.raw("GET", "/health/live", async () => json(200, { status: "alive" }));
  router.raw("GET", "/health/ready", async () => {
    const missing = await parts.ready();
    if (missing.length > 0)
      throw new Problem("pdp_unavailable", { detail: `Not ready: ${missing.join(", ")}.`, members: { reasons: missing } });
    return json(200, { status: parts.disabled ? "degraded" : "ready", policy_version: parts.version() });
  });
  router.raw(
    "GET",
    "/metrics",
    async () =>
      new Response(await parts.metrics.text(), { headers: { "content-type": parts.metrics.contentType, "cache-control": "no-store" } }),
  );
};
