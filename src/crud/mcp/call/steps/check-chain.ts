import { ask } from "#contract/ask.ts";
import { asService, type MembershipParts } from "#crud/model/ask-membership.ts";
import { chainEligibility } from "#contract/membership.ts";
import { Problem } from "#contract/problem.ts";
import type { Hop } from "#authn/model/agent-rule.ts";
import type { Tool } from "#crud/tools/tool.ts";
import { gatherLifted, type PermittedCall } from "./authorize.ts";
import { membershipError } from "./check-delegation.ts";
import { gatherRowScope, type RowScope } from "#crud/tools/row-scope.ts";
import type { CallParts } from "#crud/tools/tool-call.ts";

/** A call that may be made. */
export interface AuthorizedCall extends PermittedCall {
  /** From the person to whoever acts at last; empty for a person, a service, and a tool of Sallyport itself. */
  readonly hops: readonly Hop[];
  readonly audience: string | undefined;
  readonly scope: RowScope | undefined;
  /** Actions whose permit lifts a mask of the file. */
  readonly lifted: ReadonlySet<string>;
}

/**
 * A tool of an application is called only if the path reaches that application with every scope the operation needs; the
 * scopes are never narrowed to what would fit. Answers the audience. Persons without an agent have no chain: policy decides.
 * Throws `chain_not_eligible`.
 */
export const requireChain = async (
  tool: Tool,
  hops: readonly Hop[],
  decisionId: string,
  parts: MembershipParts,
  correlationId: string,
): Promise<string | undefined> => {
  if (tool.rules.app === undefined || hops.length === 0) return undefined;
  const headers = await asService(parts, ["pip.read"], correlationId).catch(membershipError);
  const perHop = await Promise.all(
    hops.map((hop) =>
      ask(parts.membership, chainEligibility, { query: { user_id: hop.userId, agent_id: hop.agentId, tool_id: tool.name }, headers }),
    ),
  ).catch(membershipError);
  const fitting = perHop.map((eligible) =>
    eligible.filter((row) => tool.rules.scopes.every((scope) => row.scopes.includes(scope))).map((row) => row.audience),
  );
  const audience = fitting[0]?.find((candidate) => fitting.every((audiences) => audiences.includes(candidate)));
  if (audience === undefined) throw new Problem("chain_not_eligible", { members: { decision_id: decisionId } });
  return audience;
};

/**
 * What else stands between a permit and the act, asked at once: that the path reaches the application, which rows the caller may see, and
 * which masks are lifted. Throws `chain_not_eligible`, `data_scope_unavailable`, `membership_unavailable`.
 */
export const requireReach = async (
  permitted: PermittedCall,
  hops: readonly Hop[],
  parts: MembershipParts & Pick<CallParts, "pdpClient">,
): Promise<AuthorizedCall> => {
  const { call, tool, permit } = permitted;
  const [audience, scope, lifted] = await Promise.all([
    requireChain(tool, hops, permit.decisionId, parts, call.correlationId),
    gatherRowScope(tool.rules.rows, call.caller, permit.scopes, parts, call.correlationId),
    gatherLifted(permitted, parts.pdpClient),
  ]);
  return { ...permitted, hops, audience, scope, lifted };
};
