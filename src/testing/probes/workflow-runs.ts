import type * as topic from "#contract/workflow-runs.ts";
import type { Probes } from "./probe.ts";

const NONE = "No run of the demo is there before one is started.";

export const probes: Probes<typeof topic> = {
  cancelRun: {},
  listRuns: {},
  readRun: { unread: NONE },
  resumeRun: {},
  retryRun: {},
  runDiagram: { unread: NONE },
  runSteps: { unread: NONE },
  suspendRun: {},
  takeOverRun: {},
  unsuspendRun: {},
  workflowDiagram: { read: { params: { name: "offboard" } } },
};
