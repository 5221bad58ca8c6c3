import type { FactAsk, Facts } from "#contract/facts.ts";
import type { FactSource } from "./fact-source.ts";

/** Whoever asks for a secret without a token, as the secrets service names them. */
const ANONYMOUS = "service:anonymous";

/**
 * Facts that know who comes without a token as a service of this tenant; no graph holds them, so that they are nobody as soon as the
 * settings let nobody in without one. Without a tenant: the facts as they are.
 */
export const withAnonymous = (facts: FactSource, tenant: string | undefined): FactSource => {
  if (tenant === undefined) return facts;
  const subject: Facts["subject"] = {
    id: ANONYMOUS,
    kind: "Service",
    name: "Anonymous",
    tenant_ids: [tenant],
    groups: [],
    disabled: false,
    mfa_level: null,
  };
  const known = (asks: readonly FactAsk[], gathered: readonly Facts[]): readonly Facts[] =>
    gathered.map((one, at) => (asks[at]?.subject_id === ANONYMOUS ? { ...one, subject } : one));
  const { gatherIf } = facts;
  return {
    ...facts,
    gather: async (asks) => {
      const gathered = await facts.gather(asks);
      return { ...gathered, facts: known(asks, gathered.facts) };
    },
    ...(gatherIf === undefined
      ? {}
      : {
          gatherIf: async (asks, change) => {
            const gathered = await gatherIf(asks, change);
            return { ...gathered, facts: known(asks, gathered.facts) };
          },
        }),
  };
};
