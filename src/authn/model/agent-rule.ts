import type { Agents } from "#contract/endpoint.ts";
import { Problem } from "#contract/problem.ts";
import { agentsAmong, isAgent } from "./actor-kind.ts";
import type { Caller } from "./caller.ts";

type Acting = Pick<Caller, "sub" | "tenant" | "actors" | "agent">;

/** One step of the path from the person to whoever acts at last. */
export interface Hop {
  readonly userId: string;
  readonly agentId: string;
}

/** Whether a delegation lives for every one of these hops within the tenant, at this moment. */
export type LivingDelegations = (tenant: string, hops: readonly Hop[]) => Promise<boolean>;

/** The agents of the `act` chain from the person outwards: the innermost acted first. Empty: the person is there in person. */
export const hopsOf = ({ sub, actors, agent }: Pick<Caller, "sub" | "actors" | "agent">): readonly Hop[] => {
  const named = agentsAmong(actors);
  const agents = named.length === 0 && agent !== undefined ? [agent] : named.toReversed();
  return agents.map((agentId, index) => ({ userId: agents[index - 1] ?? sub, agentId }));
};

/**
 * The rule for tokens that name an agent, wherever one may come: acts belong to the person alone, and of what is the person's the agent
 * sees its own part, while delegations from the person to it live. An endpoint that says nothing is `never`. Throws `person_required`,
 * `delegation_inactive`.
 */
export const requireAgentMay = async (agents: Agents | undefined, caller: Acting, lives: LivingDelegations): Promise<void> => {
  if (agents === "decided" || !isAgent(caller)) return;
  if (agents !== "own") throw new Problem("person_required", { detail: "An agent's token does nothing here: the person signs in." });
  const hops = hopsOf(caller);
  if (hops.length === 0 || !(await lives(caller.tenant, hops)))
    throw new Problem("delegation_inactive", { detail: "No delegation from this person to this agent is active." });
};

/** What happened with these agents acting for this subject is the caller's to see: in person all of one's own, an agent its own part. */
export const tookPart = (
  { sub, agent }: Pick<Caller, "sub" | "agent">,
  of: { readonly subject: string; readonly agents: readonly (string | undefined)[] },
): boolean => agent === undefined || (sub === of.subject && of.agents.includes(agent));
