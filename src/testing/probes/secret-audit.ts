import type * as topic from "#contract/secret-audit.ts";
import type { Probes } from "./probe.ts";

export const probes: Probes<typeof topic> = {
  listSecretAudit: {},
};
