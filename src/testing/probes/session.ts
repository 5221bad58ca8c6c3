import type * as topic from "#contract/session.ts";
import type { Probes } from "./probe.ts";

export const probes: Probes<typeof topic> = {
  endSession: {},
  endSessionsOf: {},
  getCsrf: {},
  getSession: {},
  listSessions: {},
  logout: {},
};
