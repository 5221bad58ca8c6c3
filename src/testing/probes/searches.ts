import type * as topic from "#contract/searches.ts";
import type { Probes } from "./probe.ts";

export const probes: Probes<typeof topic> = {
  searchAction: {},
  searchResource: {},
  searchSubject: {},
};
