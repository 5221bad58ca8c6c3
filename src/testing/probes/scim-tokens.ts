import type * as topic from "#contract/scim-tokens.ts";
import type { Probes } from "./probe.ts";

export const probes: Probes<typeof topic> = {
  createScimToken: { about: [{ body: { name: "{id}" } }], attempts: [{ body: { name: "mine" } }] },
  deleteScimToken: { about: [{ params: { token_id: "{id}" } }], attempts: [{ params: { token_id: "{scim_token}" } }] },
  listScimTokens: { about: [{}] },
};
