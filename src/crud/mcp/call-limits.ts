import { Problem } from "#contract/problem.ts";
import type { Caller } from "#authn/model/caller.ts";
import { createShares } from "#http/shares.ts";

const PER_PRINCIPAL = 64;

/**
 * Calls at once: so many in this process, at most half of them of one tenant and 64 of one principal, so that nobody takes
 * the others' room. Answers the function that leaves. Throws `overloaded`.
 */
export const createCallLimits = (max: number): ((caller: Pick<Caller, "tenant" | "sub">) => () => void) => {
  const ofTenant = createShares({ total: max, perKey: Math.max(1, Math.floor(max / 2)) });
  const ofPrincipal = createShares({ total: max, perKey: PER_PRINCIPAL });
  return ({ tenant, sub }) => {
    const claims = [ofTenant(tenant), ofPrincipal(`${tenant} ${sub}`)];
    const leave = (): void => claims.forEach((claim) => claim[Symbol.dispose]());
    if (claims.every((claim) => claim.take(1))) return leave;
    leave();
    throw new Problem("overloaded", { headers: { "retry-after": "1" } });
  };
};
