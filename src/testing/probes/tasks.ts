import type * as topic from "#contract/tasks.ts";
import type { Probes } from "./probe.ts";

export const probes: Probes<typeof topic> = {
  completeTask: {},
  delegateTask: {},
  listTasks: {},
  readTask: { unread: "No task of the demo is there before a run asks for one." },
  taskSummary: {},
};
