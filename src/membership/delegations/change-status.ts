import { statement, type Sql } from "#store/database.ts";
import type { GraphTransaction } from "#membership/graph/write.ts";
import { visible, type TenantScope } from "#membership/graph/tenant-scope.ts";
import { delegationView, readDelegation, type DelegationRow } from "./delegation-view.ts";
import { delegationLogRow, recordDelegation } from "./put-delegation.ts";
import { listWatchers } from "./watchers.ts";
import type { DelegationAct, DelegationOp } from "./acts.ts";

/** What the row is to become. `end_reason` only of an end. */
export interface StatusChange {
  readonly op: DelegationOp;
  readonly status: "active" | "paused" | "revoked" | "expired";
  readonly hold?: "manual" | "not_yet_valid" | "uncontrolled";
  readonly endReason?: string;
}

const LOCK = statement<{ id: string }>(
  "membership.delegation_lock",
  `select d.id from membership.delegation d where d.id = any($2::text[]) and ${visible("d")} order by d.id for update`,
);
/**
 * Money that will go up when one below ends is locked first, as by reserves: from below upwards. Nothing where nothing was handed on.
 */
const LOCK_METERS = statement(
  "membership.delegation_lock_meters",
  `select m.delegation_id from membership.meter m join membership.delegation d on d.id = m.delegation_id
   where m.delegation_id in (
     select unnest(b.path) from membership.delegation b
     where b.parent_id is not null and b.status in ('active', 'paused') and b.path && ($1::text[] collate "C"))
   order by cardinality(d.path) desc, m.delegation_id for update of m`,
);
const SET = statement(
  "membership.delegation_set_status",
  `update membership.delegation set status = $2, hold = $3, end_reason = $4, rev = rev + 1,
     ended_at = case when $2 in ('revoked', 'expired') then clock_timestamp() end
   where id = $1`,
);
const BELOW = statement<{ id: string }>(
  "membership.delegation_below",
  `select d.id from membership.delegation d where d.path @> array[$1::text collate "C"] and d.id <> $1 and d.status in ('active', 'paused')
   order by d.id for update`,
);

/**
 * Locks delegations and gives them as they are now. The lock waits for a reserve of the same instant; a reserve that comes
 * after it waits for this transaction's end.
 */
export const lockDelegations = async (sql: Sql, scope: TenantScope, ids: readonly string[]): Promise<readonly DelegationRow[]> => {
  await sql.run(LOCK_METERS, [ids]);
  const locked = await sql.run(LOCK, [scope.tenant, ids]);
  const rows: DelegationRow[] = [];
  for (const { id } of locked) {
    const row = await readDelegation(sql, scope, id);
    if (row !== undefined) rows.push(row);
  }
  return rows;
};

/** Writes the new status of a locked delegation, and ends what was given under it when it ends. */
export const changeStatus = async (
  tx: GraphTransaction,
  scope: TenantScope,
  row: DelegationRow,
  change: StatusChange,
): Promise<readonly DelegationAct[]> => {
  const acts: DelegationAct[] = [];
  const set = async (one: DelegationRow, to: StatusChange): Promise<void> => {
    const before = await delegationLogRow(tx.sql, one.id);
    await tx.sql.run(SET, [one.id, to.status, to.hold ?? null, to.endReason ?? null]);
    await recordDelegation(tx, one.id, before);
    const after = await readDelegation(tx.sql, scope, one.id);
    if (after === undefined) throw new Error("a delegation does not vanish");
    acts.push({
      op: to.op,
      before: delegationView(one),
      after: delegationView(after),
      tenantId: one.tenant_id,
      watchers: await listWatchers(tx.sql, one.person_id, one.agent_id),
    });
  };
  const below = change.status === "revoked" || change.status === "expired" ? await tx.sql.run(BELOW, [row.id]) : [];
  const children: DelegationRow[] = [];
  for (const { id } of below) {
    const child = await readDelegation(tx.sql, scope, id);
    if (child !== undefined) children.push(child);
  }
  await set(row, change);
  for (const child of children) await set(child, { op: "revoked", status: "revoked", endReason: "parent" });
  return acts;
};
