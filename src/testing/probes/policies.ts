import type * as topic from "#contract/policies.ts";
import type { Probes } from "./probe.ts";

export const probes: Probes<typeof topic> = {
  listPolicies: {},
  policySchema: {},
  readPolicy: { read: { params: { id: "{policy}" } } },
  testPolicies: {},
  validatePolicies: {},
};
