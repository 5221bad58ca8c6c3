import type * as topic from "#contract/health.ts";
import type { Probes } from "./probe.ts";

export const probes: Probes<typeof topic> = {
  health: {},
  healthLive: {},
  healthReady: {},
  healthRedis: {},
  ingestMetrics: { sample: { events: [{ event: "page_view" }] } },
  streamHealth: {},
};
