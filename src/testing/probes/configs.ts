import type * as topic from "#contract/configs.ts";
import type { Probe, Probes } from "./probe.ts";

/** Also of the endpoints that derive from `configKinds`, by their names in the reference; `probes.test.ts` demands each. */
export const probes: Probes<typeof topic> & Readonly<Record<string, Probe>> = {
  createSystem: {},
  createWorkflow: {},
  deleteSystem: {},
  deleteWorkflow: {},
  diffSystem: { read: { params: { name: "people.demo" }, query: { from: "1", to: "1" } } },
  diffWorkflow: { read: { params: { name: "offboard" }, query: { from: "1", to: "1" } } },
  diffToolsDocument: { read: { query: { from: "1", to: "1" } } },
  exportConfig: {},
  importConfig: {},
  listConfiguredSystems: {},
  listConfiguredWorkflows: {},
  putSystem: {},
  putToolsDocument: {},
  putWorkflow: {},
  readSystem: { read: { params: { name: "people.demo" } } },
  readToolsDocument: {},
  readWorkflow: { read: { params: { name: "offboard" } } },
  reloadConfig: {},
  rollBackSystem: {},
  rollBackToolsDocument: {},
  rollBackWorkflow: {},
  systemVersion: { read: { params: { name: "people.demo", version: "1" } } },
  systemVersions: { read: { params: { name: "people.demo" } } },
  testSystem: {},
  toolsDocumentVersion: { read: { params: { version: "1" } } },
  toolsDocumentVersions: {},
  workflowVersion: { read: { params: { name: "offboard", version: "1" } } },
  workflowVersions: { read: { params: { name: "offboard" } } },
};
