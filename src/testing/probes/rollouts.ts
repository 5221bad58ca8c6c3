import type * as topic from "#contract/rollouts.ts";
import type { Probes } from "./probe.ts";

export const probes: Probes<typeof topic> = {
  createRollout: {},
  deleteRollout: {},
  listRollouts: {},
  promoteRollout: {},
  readRollout: { read: { params: { version: "{version}" } } },
  rollBack: {},
  rolloutDifferences: { read: { params: { version: "{version}" } } },
  rolloutMatrix: { read: { params: { version: "{version}" } } },
};
