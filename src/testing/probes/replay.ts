import type * as topic from "#contract/replay.ts";
import type { Probes } from "./probe.ts";

export const probes: Probes<typeof topic> = {
  readReplay: { read: { params: { id: "{replay}" } } },
  replayDecision: {},
  startReplay: { sample: { version: "v1+0123456789ab", filter: {}, limit: 1 } },
  stopReplay: {},
};
