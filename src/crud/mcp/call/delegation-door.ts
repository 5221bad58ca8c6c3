import { ask } from "#contract/ask.ts";
import { capabilities } from "#contract/membership.ts";
import { Problem } from "#contract/problem.ts";
import type { Caller } from "#authn/caller.ts";
import type { CorridorParts } from "./corridor-parts.ts";

/** One step of the path from the person to whoever acts at last. */
export interface Hop {
  readonly userId: string;
  readonly agentId: string;
}

export interface Delegated {
  /** Empty: a person or a service acts itself. */
  readonly hops: readonly Hop[];
  /** Tools that every hop reaches; undefined without hops. */
  readonly capabilities: ReadonlySet<string> | undefined;
}

type DelegationParts = Pick<CorridorParts, "membership" | "membershipAudience" | "identity" | "maxDelegationDepth">;

/** The agents of the `act` chain from the person outwards: the innermost acted first. */
export const hopsOf = (caller: Pick<Caller, "sub" | "actors" | "agent">, maxDepth: number): readonly Hop[] => {
  const named = caller.actors.filter((actor) => !actor.startsWith("service:"));
  const agents = named.length === 0 && caller.agent !== undefined ? [caller.agent] : named.toReversed();
  if (agents.length > maxDepth) throw new Problem("delegation_required", { detail: `More than ${maxDepth} agents act one for another.` });
  return agents.map((agentId, index) => ({ userId: index === 0 ? caller.sub : (agents[index - 1] ?? caller.sub), agentId }));
};

/** Throws `membership_unavailable` for anything but an answer or a refusal that a caller may meet. */
export const membershipFault = (error: unknown): never => {
  throw new Problem("membership_unavailable", { cause: error });
};

/**
 * Gathers what the delegation path reaches: for each hop the capabilities of the pair. It refuses nothing itself: the
 * decision point is asked whatever is found here, and its reason is the answer.
 */
export const gatherDelegation = async (
  caller: Pick<Caller, "sub" | "actors" | "agent" | "tenant">,
  parts: DelegationParts,
  correlationId: string,
): Promise<Delegated> => {
  const hops = hopsOf(caller, parts.maxDelegationDepth);
  if (hops.length === 0) return { hops, capabilities: undefined };
  const token = await parts.identity.asService(parts.membershipAudience, ["pip.read"]).catch(membershipFault);
  const headers = { authorization: `Bearer ${token}`, "x-correlation-id": correlationId };
  const reached = await Promise.all(
    hops.map(async (hop) => {
      const answer = await ask(parts.membership, capabilities, { query: { user_id: hop.userId, agent_id: hop.agentId }, headers });
      return new Set(answer.capabilities);
    }),
  ).catch(membershipFault);
  return { hops, capabilities: reached.reduce((held, next) => held.intersection(next)) };
};
