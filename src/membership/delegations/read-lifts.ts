import type { DelegationDraft } from "#contract/delegations.ts";
import type { Principal, PdpClient } from "#pdp-client/pdp-client.ts";
import { principalThrough, shown } from "#membership/context/access.ts";
import { readReach } from "#membership/graph/sql-pip.ts";
import { scopeOfTenant } from "#membership/graph/tenant-scope.ts";
import type { MembershipContext } from "#membership/context/context.ts";
import { undone } from "#membership/model/dry-run.ts";
import { liftOf, noLifts, type Lifts } from "./what-if.ts";
import { insertDelegation, type NewDelegation } from "./put-delegation.ts";

/** Those of the pairs that are permitted to the caller, and oblige to nothing. */
const permitted = async (pdpClient: PdpClient, principal: Principal, pairs: readonly string[], correlationId: string): Promise<Lifts> => {
  const asks = pairs.map((pair) => {
    const at = pair.indexOf("/");
    return { type: pair.slice(0, at), action: pair.slice(at + 1), ...shown };
  });
  const answers = await pdpClient.decideMany(principal, asks, correlationId);
  return new Set(pairs.filter((_pair, index) => answers[index]?.decision === true && answers[index]?.obligations.length === 0));
};

/**
 * Which masks of the agent's tools would be lifted under the draft: those whose action the decision point permits through the agent
 * now, or would once the draft holds. Asked outside of any transaction, for the decision point reads this graph to answer.
 */
export const readLifts = async (
  context: Pick<MembershipContext, "database" | "pdpClient">,
  ask: { readonly tenantId: string; readonly draft: DelegationDraft; readonly written: NewDelegation; readonly correlationId: string },
): Promise<Lifts> => {
  const { delegatorId: userId, agentId } = ask.written;
  // Of what an agent hands on it is not looked up: all that tools hide is told as hidden.
  if (ask.written.parentPath !== undefined) return noLifts;
  const scope = scopeOfTenant(ask.tenantId);
  const { masks } = await undone(context.database, async (sql) => {
    await insertDelegation(sql, { ...ask.written, validFrom: null });
    return readReach(sql, scope, { userId, agentId });
  });
  const pairs = [...new Set(masks.map(liftOf).filter((pair) => pair !== undefined))];
  if (pairs.length === 0) return noLifts;
  const principal = principalThrough(userId, agentId, ask.tenantId);
  const now = await permitted(context.pdpClient, principal, pairs, ask.correlationId);
  const { capabilities, budget_usd, max_steps } = ask.draft;
  const props = { ...(capabilities === null ? {} : { capabilities }), budget_usd, max_steps };
  const edges = { add: [{ kind: "DELEGATES_TO", from: userId, to: agentId, props }] };
  const open = pairs.filter((pair) => !now.has(pair));
  const gained = open.length === 0 ? noLifts : await context.pdpClient.gained(principal, { edges, actions: open }, ask.correlationId);
  return new Set([...now, ...gained]);
};
