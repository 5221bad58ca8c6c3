import { ask } from "#contract/ask.ts";
import { chainEligibility } from "#contract/membership.ts";
import { Problem } from "#contract/problem.ts";
import type { Tool } from "#crud/mcp/tool.ts";
import type { CorridorParts } from "./corridor-parts.ts";
import { membershipFault, type Delegated } from "./delegation-door.ts";

type ChainParts = Pick<CorridorParts, "membership" | "membershipAudience" | "identity">;

/**
 * A tool of an application is called only if the path reaches that application with every scope the operation needs; the
 * scopes are never narrowed to what would fit. Answers the audience. Persons without an agent have no chain: policy decides.
 * Throws `chain_not_eligible`.
 */
export const requireChain = async (
  tool: Tool,
  delegated: Delegated,
  decisionId: string,
  parts: ChainParts,
  correlationId: string,
): Promise<string | undefined> => {
  if (tool.rules.app === undefined || delegated.hops.length === 0) return undefined;
  const token = await parts.identity.asService(parts.membershipAudience, ["pip.read"]).catch(membershipFault);
  const headers = { authorization: `Bearer ${token}`, "x-correlation-id": correlationId };
  const perHop = await Promise.all(
    delegated.hops.map((hop) =>
      ask(parts.membership, chainEligibility, { query: { user_id: hop.userId, agent_id: hop.agentId, tool_id: tool.name }, headers }),
    ),
  ).catch(membershipFault);
  const fitting = perHop.map((eligible) =>
    eligible.filter((row) => tool.rules.scopes.every((scope) => row.scopes.includes(scope))).map((row) => row.audience),
  );
  const audience = fitting[0]?.find((candidate) => fitting.every((audiences) => audiences.includes(candidate)));
  if (audience === undefined) throw new Problem("chain_not_eligible", { members: { decision_id: decisionId } });
  return audience;
};
