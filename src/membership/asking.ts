import type { Caller } from "#authn/caller.ts";
import type { Asker, DecideAsk } from "#decide/decider.ts";
import { tenantScopeOf, type TenantScope } from "./graph/tenant-scope.ts";
import type { MembershipRoom } from "./room.ts";

/** How this room asks the decision point. */

/** Of a call, who asks. */
export interface Asking {
  readonly caller: Caller;
  readonly correlationId: string;
}

/** Of what is asked to draw a page: which rows of a list, and what a form would do. Nobody tried anything. */
export const shown = { context: { showing: true } } as const;

/** A person through an agent, where no call of theirs is there. */
export const askerThrough = (userId: string, agentId: string, tenant: string): Asker => ({
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
  { decider }: Pick<MembershipRoom, "decider">,
  { caller, correlationId }: Asking,
  ask: DecideAsk,
): Promise<TenantScope> => {
  const scope = tenantScopeOf(caller);
  await decider.require(caller, ask, correlationId);
  return scope;
};
