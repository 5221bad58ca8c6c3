import { Problem } from "#contract/problem.ts";
import { statement, type Sql } from "#store/database.ts";
import type { GraphTransaction } from "#membership/graph/write.ts";
import { visible, type TenantScope } from "#membership/graph/tenant-scope.ts";
import { delegationView, readDelegation, type DelegationRow } from "./delegation-view.ts";
import { delegationLogRow, recordDelegation } from "./put-delegation.ts";
import { listWatchers, type DelegationAct, type DelegationOp } from "./acts.ts";

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
const LOCK_OWN_METERS = statement(
  "membership.delegation_lock_own_meters",
  "select m.delegation_id from membership.meter m where m.delegation_id = any($1::text[]) order by m.delegation_id for update of m",
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
export const lockDelegations = async (
  sql: Sql,
  scope: TenantScope,
  ids: readonly string[],
  /** `with money`: their limits will be changed, so reserves are waited for one after the other. */
  how: "rows" | "with money" = "rows",
): Promise<readonly DelegationRow[]> => {
  await sql.run(LOCK_METERS, [ids]);
  if (how === "with money") await sql.run(LOCK_OWN_METERS, [ids]);
  const locked = await sql.run(LOCK, [scope.tenant, ids]);
  const rows: DelegationRow[] = [];
  for (const { id } of locked) {
    const row = await readDelegation(sql, scope, id);
    if (row !== undefined) rows.push(row);
  }
  return rows;
};

/** Those that live below one, locked, as they are now. */
export const lockBelow = async (sql: Sql, scope: TenantScope, id: string): Promise<readonly DelegationRow[]> => {
  const rows: DelegationRow[] = [];
  for (const below of await sql.run(BELOW, [id])) {
    const row = await readDelegation(sql, scope, below.id);
    if (row !== undefined) rows.push(row);
  }
  return rows;
};

/** Changes a locked row, and puts what became of it into the version. */
export const changeRecorded = async (
  tx: GraphTransaction,
  scope: TenantScope,
  row: DelegationRow,
  op: DelegationOp,
  change: () => Promise<unknown>,
): Promise<DelegationAct> => {
  const before = await delegationLogRow(tx.sql, row.id);
  await change();
  await recordDelegation(tx, row.id, before);
  const after = await readDelegation(tx.sql, scope, row.id);
  if (after === undefined) throw new Error("a delegation does not vanish");
  return {
    op,
    before: delegationView(row),
    after: delegationView(after),
    tenantId: row.tenant_id,
    watchers: await listWatchers(tx.sql, row.person_id, row.agent_id),
  };
};

export const isFinal = (row: DelegationRow): boolean => row.status === "revoked" || row.status === "expired";

/** Throws `delegation_ended`. */
export const requireStanding = (row: DelegationRow): void => {
  if (isFinal(row))
    throw new Problem("delegation_ended", { members: { delegation_status: row.status, ended_at: row.ended_at ?? undefined } });
};

/** Writes the new status of a locked delegation, and ends what was given under it when it ends. */
export const changeStatus = async (
  tx: GraphTransaction,
  scope: TenantScope,
  row: DelegationRow,
  change: StatusChange,
): Promise<readonly DelegationAct[]> => {
  const set = (one: DelegationRow, to: StatusChange): Promise<DelegationAct> =>
    changeRecorded(tx, scope, one, to.op, () => tx.sql.run(SET, [one.id, to.status, to.hold ?? null, to.endReason ?? null]));
  const children = change.status === "revoked" || change.status === "expired" ? await lockBelow(tx.sql, scope, row.id) : [];
  const acts = [await set(row, change)];
  for (const child of children) acts.push(await set(child, { op: "revoked", status: "revoked", endReason: "parent" }));
  return acts;
};
