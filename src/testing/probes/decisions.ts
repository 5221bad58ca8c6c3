import type * as topic from "#contract/decisions.ts";
import type { Probes } from "./probe.ts";

export const probes: Probes<typeof topic> = {
  decisionValues: {},
  getDecision: { read: { params: { id: "{decision}" } }, agent: { gets: "own" } },
  listDecisions: { agent: { gets: "own" } },
};
