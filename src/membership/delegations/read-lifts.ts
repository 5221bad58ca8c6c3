import type { DelegationDraft } from "#contract/delegations.ts";
import type { Asker, Decider } from "#decide/decider.ts";
import { askerThrough, shown } from "#membership/asking.ts";
import { readReach } from "#membership/graph/sql-pip.ts";
import { scopeOfTenant } from "#membership/graph/tenant-scope.ts";
import type { MembershipRoom } from "#membership/room.ts";
import { undone } from "#membership/only-tried.ts";
import { liftOf, noLifts, type Lifts } from "./what-if.ts";
import { insertDelegation, type NewDelegation } from "./put-delegation.ts";

/** Those of the pairs that are permitted to the asker, and oblige to nothing. */
const permitted = async (decider: Decider, asker: Asker, pairs: readonly string[], correlationId: string): Promise<Lifts> => {
  const asks = pairs.map((pair) => {
    const at = pair.indexOf("/");
    return { type: pair.slice(0, at), action: pair.slice(at + 1), ...shown };
  });
  const answers = await decider.decideMany(asker, asks, correlationId);
  return new Set(pairs.filter((_pair, index) => answers[index]?.decision === true && answers[index]?.obligations.length === 0));
};

/**
 * Which masks of the agent's tools would be lifted under the draft: those whose action the decision point permits through the agent
 * now, or would once the draft holds. Asked outside of any transaction, for the decision point reads this graph to answer.
 */
export const readLifts = async (
  room: Pick<MembershipRoom, "database" | "decider">,
  ask: { readonly tenantId: string; readonly draft: DelegationDraft; readonly written: NewDelegation; readonly correlationId: string },
): Promise<Lifts> => {
  const { delegatorId: userId, agentId } = ask.written;
  // Of what an agent hands on it is not looked up: all that tools hide is told as hidden.
  if (ask.written.parentPath !== undefined) return noLifts;
  const scope = scopeOfTenant(ask.tenantId);
  const { masks } = await undone(room.database, async (sql) => {
    await insertDelegation(sql, { ...ask.written, validFrom: null });
    return readReach(sql, scope, { userId, agentId });
  });
  const pairs = [...new Set(masks.map(liftOf).filter((pair) => pair !== undefined))];
  if (pairs.length === 0) return noLifts;
  const asker = askerThrough(userId, agentId, ask.tenantId);
  const now = await permitted(room.decider, asker, pairs, ask.correlationId);
  const { capabilities, budget_usd, max_steps } = ask.draft;
  const props = { ...(capabilities === null ? {} : { capabilities }), budget_usd, max_steps };
  const edges = { add: [{ kind: "DELEGATES_TO", from: userId, to: agentId, props }] };
  const open = pairs.filter((pair) => !now.has(pair));
  const gained = open.length === 0 ? noLifts : await room.decider.gained(asker, { edges, actions: open }, ask.correlationId);
  return new Set([...now, ...gained]);
};
