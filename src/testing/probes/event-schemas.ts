import type * as topic from "#contract/event-schemas.ts";
import type { Probes } from "./probe.ts";

export const probes: Probes<typeof topic> = {
  readEventSchema: { read: { params: { type: "config.published.v1" } } },
};
