import type * as topic from "#contract/workflow-runs.ts";
import type { Probes } from "./probe.ts";

const read = { as: "ben", params: { id: "{run}" } } as const;

export const probes: Probes<typeof topic> = {
  cancelRun: {},
  listRuns: {},
  readRun: { read },
  resumeRun: {},
  retryRun: {},
  runDiagram: { read },
  runSteps: { read },
  suspendRun: {},
  takeOverRun: {},
  unsuspendRun: {},
  workflowDiagram: { read: { params: { name: "offboard" } } },
};
