import type * as topic from "#contract/outbox.ts";
import type { Probes } from "./probe.ts";

export const probes: Probes<typeof topic> = {
  dropOutbox: {},
  listOutbox: {},
  retryOutbox: {},
};
