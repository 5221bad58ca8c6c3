import type * as topic from "#contract/waiting.ts";
import type { Probes } from "./probe.ts";

export const probes: Probes<typeof topic> = { readWaiting: {} };
