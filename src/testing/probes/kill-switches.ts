import type * as topic from "#contract/kill-switches.ts";
import type { Probes } from "./probe.ts";

export const probes: Probes<typeof topic> = {
  deleteKillSwitch: {},
  listKillSwitches: {},
  putKillSwitch: {},
  readKillSwitch: { read: { params: { scope: "{killSwitch}" } } },
};
