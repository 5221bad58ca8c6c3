import { ask } from "#contract/ask.ts";
import { asService, type MembershipParts } from "#crud/model/ask-membership.ts";
import { capabilities } from "#contract/membership.ts";
import type { Caller } from "#authn/model/caller.ts";
import type { CallParts } from "#crud/tools/tool-call.ts";
import type { Hop } from "#authn/model/agent-rule.ts";
import { membershipError, parseHops } from "./call/steps/check-delegation.ts";

export interface Reach {
  /** Empty: a person or a service acts itself. */
  readonly hops: readonly Hop[];
  /** Tools that every hop reaches; undefined without hops. */
  readonly capabilities: ReadonlySet<string> | undefined;
}

/**
 * What a delegation path reaches, for a list: of many tools an agent's few are found in one question a hop, and only those are
 * decided. For a call nobody asks it: the decision point gathers its facts itself. Throws `membership_unavailable`,
 * `delegation_required`.
 */
export const gatherReach = async (
  caller: Pick<Caller, "sub" | "actors" | "agent" | "tenant">,
  parts: MembershipParts & Pick<CallParts, "maxDelegationDepth">,
  correlationId: string,
): Promise<Reach> => {
  const hops = parseHops(caller, parts.maxDelegationDepth);
  if (hops.length === 0) return { hops, capabilities: undefined };
  const headers = await asService(parts, ["pip.read"], correlationId).catch(membershipError);
  const reached = await Promise.all(
    hops.map(async (hop) => {
      const answer = await ask(parts.membership, capabilities, { query: { user_id: hop.userId, agent_id: hop.agentId }, headers });
      return new Set(answer.capabilities);
    }),
  ).catch(membershipError);
  return { hops, capabilities: reached.reduce((held, next) => held.intersection(next)) };
};
