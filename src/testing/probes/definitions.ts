import type * as topic from "#contract/definitions.ts";
import type { Probes } from "./probe.ts";

export const probes: Probes<typeof topic> = {
  approveDefinition: {},
  approveSystemDefinitions: {},
  listDefinitions: {},
  readDefinition: { read: { params: { tool: "memory.demo.read_graph" } } },
  rejectDefinition: {},
};
