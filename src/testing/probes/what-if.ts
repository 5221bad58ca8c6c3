import type * as topic from "#contract/what-if.ts";
import type { Probes } from "./probe.ts";

export const probes: Probes<typeof topic> = {
  whatIf: {},
};
