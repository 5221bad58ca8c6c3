import type { FactAsk, Facts } from "#contract/facts.ts";
import type { FactSource, Gathered } from "./fact-source.ts";

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
  const known = async <T extends Gathered>(asks: readonly FactAsk[], gathering: Promise<T>): Promise<T> => {
    const gathered = await gathering;
    return { ...gathered, facts: gathered.facts.map((one, at) => (asks[at]?.subject_id === ANONYMOUS ? { ...one, subject } : one)) };
  };
  const { gatherIf } = facts;
  return {
    ...facts,
    gather: (asks) => known(asks, facts.gather(asks)),
    ...(gatherIf === undefined ? {} : { gatherIf: (asks, change) => known(asks, gatherIf(asks, change)) }),
  };
};
