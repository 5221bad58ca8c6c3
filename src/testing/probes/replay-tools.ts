import type * as topic from "#contract/replay-tools.ts";
import type { Probes } from "./probe.ts";

export const probes: Probes<typeof topic> = {
  replayTools: {},
};
