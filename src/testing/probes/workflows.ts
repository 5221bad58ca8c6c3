import type * as topic from "#contract/workflows.ts";
import type { Probes } from "./probe.ts";

export const probes: Probes<typeof topic> = {
  listWorkflows: {},
  rerunRun: {},
  simulateWorkflow: {},
  startWorkflow: {},
  validateWorkflow: {},
};
