import { statement } from "#store/database.ts";
import { reportOf, type Actor, type DelegationAct } from "#membership/delegations/acts.ts";
import { changeStatus, lockDelegations } from "#membership/delegations/change-status.ts";
import type { TenantScope } from "#membership/graph/tenant-scope.ts";
import type { GraphTransaction, Written } from "#membership/graph/write.ts";

const STANDING = statement<{ id: string }>(
  "membership.delegations_of_agent",
  "select id from membership.delegation where agent_id = $1 and status in ('active', 'paused') order by id",
);

/** Pauses what an agent holds that nobody controls any more, and what it was to tell of it. */
export const pauseUncontrolled = async (
  tx: GraphTransaction,
  scope: TenantScope,
  agentId: string,
  actor: Actor,
): Promise<Required<Pick<Written<unknown>, "events" | "entries">>> => {
  const acts: DelegationAct[] = [];
  const ids = (await tx.sql.run(STANDING, [agentId])).map(({ id }) => id);
  for (const row of await lockDelegations(tx.sql, scope, ids))
    if (row.status === "active" || row.hold === "not_yet_valid")
      acts.push(...(await changeStatus(tx, scope, row, { op: "paused", status: "paused", hold: "uncontrolled" })));
  return reportOf(acts, actor);
};
