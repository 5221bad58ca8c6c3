import type * as topic from "#contract/tasks.ts";
import type { Probes } from "./probe.ts";

export const probes: Probes<typeof topic> = {
  completeTask: {},
  delegateTask: {},
  listTasks: {},
  readTask: { read: { as: "cleo", params: { id: "{task}" } } },
  taskSummary: {},
};
