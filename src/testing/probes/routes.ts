import type * as topic from "#contract/routes.ts";
import type { Probes } from "./probe.ts";

export const probes: Probes<typeof topic> = {
  explainRoute: { sample: { method: "GET", target: "/api/crud/forms" } },
  reloadRoutes: {},
};
