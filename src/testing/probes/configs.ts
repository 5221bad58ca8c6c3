import type * as topic from "#contract/configs.ts";
import type { Probe, Probes } from "./probe.ts";

/** Also of the endpoints that derive from `configKinds`, by their names in the reference; `probes.test.ts` demands each. */
export const probes: Probes<typeof topic> & Readonly<Record<string, Probe>> = {
  createSystem: {},
  deleteSystem: {},
  diffSystem: { read: { params: { name: "people.demo" }, query: { from: "1", to: "1" } } },
  diffToolsDocument: { read: { query: { from: "1", to: "1" } } },
  exportConfig: {},
  importConfig: {},
  listConfiguredSystems: {},
  putSystem: {},
  putToolsDocument: {},
  readSystem: { read: { params: { name: "people.demo" } } },
  readToolsDocument: {},
  reloadConfig: {},
  rollBackSystem: {},
  rollBackToolsDocument: {},
  systemVersion: { read: { params: { name: "people.demo", version: "1" } } },
  systemVersions: { read: { params: { name: "people.demo" } } },
  testSystem: {},
  toolsDocumentVersion: { read: { params: { version: "1" } } },
  toolsDocumentVersions: {},
};
