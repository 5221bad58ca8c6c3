import type * as topic from "#contract/imports.ts";
import type { Probes } from "./probe.ts";

export const probes: Probes<typeof topic> = {
  acceptImport: {},
  importOpenApi: {},
  importedOperations: { read: { params: { id: "{importId}" } } },
  reimportSystem: {},
};
