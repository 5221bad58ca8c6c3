import type { Caller } from "#authn/model/caller.ts";
import { nodeId } from "#contract/ids.ts";
import { Problem } from "#contract/problem.ts";
import type { Principal, EvaluationQuery } from "#pdp-client/pdp-client.ts";
import type { Answered, GraphNode } from "#membership/graph/graph-reader.ts";
import { tenantScopeOf, type TenantScope } from "#membership/graph/tenant-scope.ts";
import type { MembershipContext } from "./context.ts";

/** Who asks, what for, and whether they may. */

/** Of a call, who asks. */
export interface Asking {
  readonly caller: Caller;
  readonly correlationId: string;
}

/** Of what is asked to draw a page: which rows of a list, and what a form would do. Nobody tried anything. */
export const shown = { context: { showing: true } } as const;

/** A person through an agent, where no call of theirs is there. */
export const principalThrough = (userId: string, agentId: string, tenant: string): Principal => ({
  sub: userId,
  tenant,
  agent: agentId,
  acr: undefined,
  amr: [],
  authTime: undefined,
  scopes: new Set(),
  clientId: undefined,
});

/** The part of the graph in which the caller may look so. Throws `tenant_required`, `access_denied`, `step_up_required`. */
export const requireView = async (
  { pdpClient }: Pick<MembershipContext, "pdpClient">,
  { caller, correlationId }: Asking,
  ask: EvaluationQuery,
): Promise<TenantScope> => {
  const scope = tenantScopeOf(caller);
  await pdpClient.require(caller, ask, correlationId);
  return scope;
};

/** A node that is seen in that part of the graph, of one of these kinds; of any unless said. Throws `not_found`. */
export const requireNode = async (
  { reader }: Pick<MembershipContext, "reader">,
  scope: TenantScope,
  id: string,
  kinds?: readonly string[],
): Promise<Answered<GraphNode>> => {
  const { version, value } = nodeId.safeParse(id).success ? await reader.node(scope, id) : { version: 0n, value: undefined };
  if (value === undefined || kinds?.includes(value.kind) === false) throw new Problem("not_found");
  return { version, value };
};
