import type { ReplyOf } from "#contract/endpoint.ts";
import type { settle as settleEndpoint } from "#contract/reservations.ts";
import { usdFromMicro } from "#contract/ids.ts";
import { Problem } from "#contract/problem.ts";
import { statement, type Sql } from "#store/database.ts";
import { visible, type TenantScope } from "#membership/graph/tenant-scope.ts";

export interface Actual {
  readonly steps: number;
  readonly micro: bigint;
  /** `unknown`: whether it happened cannot be told, so all that was held is charged. */
  readonly outcome: "ok" | "failed" | "unknown";
}

export type Settled = ReplyOf<typeof settleEndpoint> & { readonly delegationId: string };

interface ClosedRow {
  readonly delegation_id: string;
  readonly charged_steps: bigint;
  readonly charged_micro: bigint;
  readonly excess_micro: bigint;
  readonly left_steps: bigint;
  readonly left_micro: bigint;
}

const LEFT = `m.limit_steps - m.used_steps - m.held_steps - m.lent_steps as left_steps,
   m.limit_micro - m.used_micro - m.held_micro - m.lent_micro as left_micro`;

/**
 * Charges what was used, at most what was held; what goes beyond is only recorded. A reservation that lapsed (all
 * charged, outcome unknown) may be corrected downwards once, within a day. $1 tenant, $2 id, $3 steps, $4 micro, $5 outcome.
 */
const SETTLE = statement<ClosedRow>(
  "membership.settle",
  `with o as materialized (
     select x.* from membership.reservation x where x.id = $2::uuid and ${visible("x")} and (
       x.state = 'held' or (x.state = 'lapsed' and $5::text <> 'unknown' and x.closed_at > now() - interval '24 hours')) for update),
   r as (
     update membership.reservation x set state = 'settled', outcome = $5, late = o.state = 'lapsed', closed_at = now(),
       charged_steps = case when $5 = 'unknown' then o.steps else least($3::bigint, o.steps) end,
       charged_micro = case when $5 = 'unknown' then o.micro else least($4::bigint, o.micro) end,
       excess_micro = greatest($4::bigint - o.micro, 0)
     from o where x.id = o.id
     returning x.delegation_id, x.charged_steps, x.charged_micro, x.excess_micro),
   m as (
     update membership.meter m set
       held_steps = m.held_steps - case when o.state = 'held' then o.steps else 0 end,
       held_micro = m.held_micro - case when o.state = 'held' then o.micro else 0 end,
       used_steps = m.used_steps + r.charged_steps - coalesce(o.charged_steps, 0),
       used_micro = m.used_micro + r.charged_micro - coalesce(o.charged_micro, 0)
     from r, o where m.delegation_id = r.delegation_id
     returning ${LEFT})
   select r.*, m.left_steps, m.left_micro from r, m`,
);

const RELEASE = statement<{ delegation_id: string }>(
  "membership.release",
  `with o as materialized (
     select x.* from membership.reservation x where x.id = $2::uuid and ${visible("x")} and x.state = 'held' for update),
   r as (
     update membership.reservation x set state = 'released', closed_at = now(), charged_steps = 0, charged_micro = 0, excess_micro = 0
     from o where x.id = o.id returning x.delegation_id, x.steps, x.micro)
   update membership.meter m set held_steps = m.held_steps - r.steps, held_micro = m.held_micro - r.micro
   from r where m.delegation_id = r.delegation_id returning m.delegation_id`,
);

const EXTEND = statement<{ ends_at: string }>(
  "membership.extend",
  `update membership.reservation x set ends_at = greatest(x.ends_at, now() + make_interval(secs => $3))
   where x.id = $2::uuid and ${visible("x")} and x.state = 'held' returning x.ends_at`,
);

/** Charges all that was held of reservations past their end; a few at a time, skipping those that are being closed. */
const LAPSE = statement<{ delegation_id: string; call_id: string }>(
  "membership.lapse",
  `with o as materialized (
     select x.* from membership.reservation x where x.state = 'held' and x.ends_at <= now() order by x.ends_at limit 1 for update skip locked),
   r as (
     update membership.reservation x set state = 'lapsed', outcome = 'unknown', closed_at = now(), charged_steps = o.steps,
       charged_micro = o.micro, excess_micro = 0
     from o where x.id = o.id returning x.delegation_id, x.call_id, x.steps, x.micro)
   update membership.meter m set held_steps = m.held_steps - r.steps, held_micro = m.held_micro - r.micro,
     used_steps = m.used_steps + r.steps, used_micro = m.used_micro + r.micro
   from r where m.delegation_id = r.delegation_id returning m.delegation_id, r.call_id`,
);

const FOUND = statement<
  ClosedRow & {
    readonly state: "held" | "settled" | "released" | "lapsed";
    readonly outcome: string | null;
    readonly steps: bigint;
    readonly micro: bigint;
  }
>(
  "membership.reservation_state",
  `select x.state, x.outcome, x.steps, x.micro, x.delegation_id, x.charged_steps, x.charged_micro, x.excess_micro, ${LEFT}
   from membership.reservation x join membership.meter m on m.delegation_id = x.delegation_id where x.id = $2::uuid and ${visible("x")}`,
);

const settledOf = (row: ClosedRow): Settled => ({
  delegationId: row.delegation_id,
  charged_steps: Number(row.charged_steps),
  charged_usd: usdFromMicro(row.charged_micro),
  excess_usd: usdFromMicro(row.excess_micro),
  steps_left: Number(row.left_steps),
  budget_left_usd: usdFromMicro(row.left_micro),
});

const requireFound = async (sql: Sql, scope: TenantScope, id: string) => {
  const [found] = await sql.run(FOUND, [scope.tenant, id]);
  if (found === undefined) throw new Problem("not_found");
  return found;
};

const closedOtherwise = (found: { readonly state: string; readonly outcome: string | null }): Problem =>
  new Problem("reservation_closed", { members: { state: found.state, outcome: found.outcome ?? undefined } });

/** Closing alike is a replay; differently 409 `reservation_closed`; an unknown or foreign id 404. */
export const settle = async (sql: Sql, scope: TenantScope, id: string, actual: Actual): Promise<Settled> => {
  const [row] = await sql.run(SETTLE, [scope.tenant, id, actual.steps, actual.micro, actual.outcome]);
  if (row !== undefined) return settledOf(row);
  const found = await requireFound(sql, scope, id);
  const least = (one: bigint, other: bigint): bigint => (one < other ? one : other);
  const isAlike =
    found.outcome === actual.outcome &&
    (found.state === "settled" || found.state === "lapsed") &&
    (actual.outcome === "unknown" ||
      (found.charged_steps === least(BigInt(actual.steps), found.steps) && found.charged_micro === least(actual.micro, found.micro)));
  if (!isAlike) throw closedOtherwise(found);
  return settledOf(found);
};

/** Nothing is charged. Releasing twice is a replay; after any other closing 409. Gives the delegation whose meter moved, if it did. */
export const release = async (sql: Sql, scope: TenantScope, id: string): Promise<string | undefined> => {
  const [row] = await sql.run(RELEASE, [scope.tenant, id]);
  if (row !== undefined) return row.delegation_id;
  const found = await requireFound(sql, scope, id);
  if (found.state !== "released") throw closedOtherwise(found);
  return undefined;
};

/** Holds it for so long from now, never shorter than before. */
export const extend = async (sql: Sql, scope: TenantScope, id: string, seconds: number): Promise<string> => {
  const [row] = await sql.run(EXTEND, [scope.tenant, id, seconds]);
  if (row !== undefined) return row.ends_at;
  throw closedOtherwise(await requireFound(sql, scope, id));
};

/** Charges one reservation past its end as unknown; `undefined`: there is none. */
export const lapseOne = async (sql: Sql): Promise<{ readonly delegationId: string; readonly callId: string } | undefined> => {
  const [row] = await sql.run(LAPSE);
  return row === undefined ? undefined : { delegationId: row.delegation_id, callId: row.call_id };
};
