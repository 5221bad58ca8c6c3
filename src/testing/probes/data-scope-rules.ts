import type * as topic from "#contract/data-scope-rules.ts";
import type { Probes } from "./probe.ts";

export const probes: Probes<typeof topic> = {
  deleteDataScopeRule: {
    about: [{ params: { resource_type: "{id}" }, headers: { "if-match": "*" } }],
    attempts: [{ params: { resource_type: "ledger" }, headers: { "if-match": "*" } }],
  },
  getDataScopeRule: { read: { params: { resource_type: "employee" } }, about: [{ params: { resource_type: "{id}" } }] },
  listDataScopeRules: { about: [{}] },
  putDataScopeRule: {
    about: [{ params: { resource_type: "walled" }, body: { own_groups: ["{id}"] }, headers: { "if-none-match": "*" } }],
    attempts: [{ params: { resource_type: "employee" }, body: { own_groups: ["group:all"] }, headers: { "if-none-match": "*" } }],
  },
};
