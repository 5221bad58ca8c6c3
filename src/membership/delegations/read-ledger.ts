import type { z } from "zod";
import { usdFromMicro } from "#contract/ids.ts";
import type { reservationView } from "#contract/reservations.ts";
import { statement, type Sql } from "#store/database.ts";
import { visible, type TenantScope } from "#membership/graph/tenant-scope.ts";

interface ReservationRow extends Pick<
  z.output<typeof reservationView>,
  "call_id" | "tool_id" | "state" | "outcome" | "created_at" | "closed_at"
> {
  readonly id: string;
  readonly delegation_id: string;
  readonly steps: bigint;
  readonly micro: bigint;
  readonly charged_steps: bigint | null;
  readonly charged_micro: bigint | null;
}
const COLUMNS =
  "x.id, x.call_id, x.delegation_id, x.tool_id, x.state, x.outcome, x.steps, x.micro, x.charged_steps, x.charged_micro, x.created_at, x.closed_at";

const viewOf = (row: ReservationRow) => ({
  reservation_id: row.id,
  call_id: row.call_id,
  delegation_id: row.delegation_id,
  tool_id: row.tool_id,
  state: row.state,
  outcome: row.outcome,
  steps: Number(row.steps),
  usd: usdFromMicro(row.micro),
  charged_steps: row.charged_steps === null ? null : Number(row.charged_steps),
  charged_usd: row.charged_micro === null ? null : usdFromMicro(row.charged_micro),
  created_at: row.created_at,
  closed_at: row.closed_at,
});
export type ReservationView = ReturnType<typeof viewOf>;

const BY_CALL = statement<ReservationRow>(
  "membership.reservation_by_call",
  `select ${COLUMNS} from membership.reservation x where x.call_id = $2 and ${visible("x")} order by x.created_at desc limit 1`,
);
/** The reservation of a call, for a pipeline that was restarted. */
export const findByCall = async (sql: Sql, scope: TenantScope, callId: string): Promise<ReservationView | null> => {
  const [row] = await sql.run(BY_CALL, [scope.tenant, callId]);
  return row === undefined ? null : viewOf(row);
};

const OPEN = statement<ReservationRow>(
  "membership.reservations_open",
  `select ${COLUMNS} from membership.reservation x where x.delegation_id = any($2::text[]) and x.state = 'held' and ${visible("x")}
   order by x.created_at, x.id limit 1000`,
);
/** Reservations that are held now, oldest first, at most 1,000. */
export const listOpen = async (sql: Sql, scope: TenantScope, delegationIds: readonly string[]): Promise<readonly ReservationView[]> =>
  (await sql.run(OPEN, [scope.tenant, delegationIds])).map(viewOf);

/** Closed with a charge, within [$3, $4). */
const CHARGED = `x.state in ('settled', 'lapsed') and ($3::timestamptz is null or x.created_at >= $3) and ($4::timestamptz is null or x.created_at < $4)`;

const BY_TOOL = statement<{ tool_id: string; calls: number; steps: number; micro: bigint }>(
  "membership.usage_by_tool",
  `select x.tool_id, count(*)::int as calls, sum(x.charged_steps)::int as steps, sum(x.charged_micro)::bigint as micro
   from membership.reservation x where x.delegation_id = $2 and ${visible("x")} and ${CHARGED} group by x.tool_id order by x.tool_id`,
);
const BY_HOUR = statement<{ at: string; steps: number; micro: bigint }>(
  "membership.usage_by_hour",
  `select date_trunc('hour', x.created_at, 'UTC') as at, sum(x.charged_steps)::int as steps, sum(x.charged_micro)::bigint as micro
   from membership.reservation x where x.delegation_id = $2 and ${visible("x")} and ${CHARGED} group by 1 order by 1`,
);
/** What a delegation used, by tool and by hour (hours without use are left out). */
export const readUsage = async (sql: Sql, scope: TenantScope, delegationId: string, from?: string, to?: string) => {
  const values = [scope.tenant, delegationId, from ?? null, to ?? null];
  const byTool = await sql.run(BY_TOOL, values);
  const byHour = await sql.run(BY_HOUR, values);
  return {
    by_tool: byTool.map((row) => ({ tool_id: row.tool_id, calls: row.calls, steps: row.steps, usd: usdFromMicro(row.micro) })),
    series: byHour.map((row) => ({ at: row.at, steps: row.steps, usd: usdFromMicro(row.micro) })),
  };
};

/** What they gave, and whatever was handed on from it: each names those above it in its path. */
const SPEND = statement<{ delegation_id: string; settled: bigint; held: bigint; steps: number }>(
  "membership.spend",
  `select x.delegation_id, coalesce(sum(x.charged_micro) filter (where x.state in ('settled', 'lapsed')), 0)::bigint as settled,
     coalesce(sum(x.micro) filter (where x.state = 'held'), 0)::bigint as held,
     coalesce(sum(x.charged_steps) filter (where x.state in ('settled', 'lapsed')), 0)::int as steps
   from membership.delegation d join membership.reservation x on x.delegation_id = d.id
   where d.path && array(select g.id from membership.delegation g where g.delegator_id = $2) and ${visible("d")}
     and ($3::timestamptz is null or x.created_at >= $3) and ($4::timestamptz is null or x.created_at < $4)
   group by x.delegation_id order by x.delegation_id`,
);
/** What a person's agents spent and hold, and those that they handed it on to, within [from, to). */
export const readSpend = async (sql: Sql, scope: TenantScope, userId: string, from?: string, to?: string) => {
  const rows = await sql.run(SPEND, [scope.tenant, userId, from ?? null, to ?? null]);
  const total = (pick: (row: (typeof rows)[number]) => bigint): number => usdFromMicro(rows.reduce((sum, row) => sum + pick(row), 0n));
  return {
    settled_usd: total((row) => row.settled),
    held_usd: total((row) => row.held),
    steps: rows.reduce((sum, row) => sum + row.steps, 0),
    by_delegation: rows.map((row) => ({
      delegation_id: row.delegation_id,
      settled_usd: usdFromMicro(row.settled),
      held_usd: usdFromMicro(row.held),
      steps: row.steps,
    })),
  };
};
