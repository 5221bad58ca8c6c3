import { Problem } from "#contract/problem.ts";
import { hopsOf, type Hop } from "#authn/model/agent-rule.ts";
import type { Caller } from "#authn/model/caller.ts";

/**
 * The hops of the caller's path to whoever acts at last. None: a person or a service acts itself. What the path reaches is the decision
 * point's to find out. Throws `delegation_required` for a longer chain than may be.
 */
export const parseHops = (caller: Pick<Caller, "sub" | "actors" | "agent">, maxDepth: number): readonly Hop[] => {
  const hops = hopsOf(caller);
  if (hops.length > maxDepth) throw new Problem("delegation_required", { detail: `More than ${maxDepth} agents act one for another.` });
  return hops;
};

/** Throws `membership_unavailable` for anything but an answer or a refusal that a caller may meet. */
export const membershipError = (error: unknown): never => {
  throw new Problem("membership_unavailable", { cause: error });
};
