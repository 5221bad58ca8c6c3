import type * as topic from "#contract/roles.ts";
import type { Probes } from "./probe.ts";

export const probes: Probes<typeof topic> = {
  listRoleHolders: { about: [{ query: { holder_id: "{id}" } }, { query: { role_id: "{id}" } }] },
};
