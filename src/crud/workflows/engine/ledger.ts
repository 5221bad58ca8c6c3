import { statement, type Sql } from "#store/database.ts";
import type { OpenAttempt, RunRow, SignalRow, StepRow } from "./run-rows.ts";

export const RUN_COLUMNS = `id, tenant, name, namespace, version, config_version, subject, agent, delegation_id, client_id, scopes, acr, auth_time,
  correlation_id, input, context, output, error, phase, reason, undo_for, desired, state_version, epoch, wake_at, wake_seq, done_seq,
  cost_micro, cost_steps, created_at, updated_at, ended_at, deadline`;

/** A run under a lease, and the time of the database at that moment. */
export type ClaimedRun = RunRow & { readonly now: string };

/**
 * $1 holder, $2 runs, $3 of one tenant while others wait, $4 seconds. Each tenant's due runs are read from the index, so a tenant with many
 * hides none of the others.
 */
export const CLAIM = statement<ClaimedRun>(
  "crud.wf_claim",
  `with recursive moment as materialized (select crud.wf_now() as now),
   tenants (tenant) as (
     (select tenant from crud.wf_run where wake_at is not null order by tenant limit 1)
     union all
     select (select r.tenant from crud.wf_run r where r.wake_at is not null and r.tenant > t.tenant order by r.tenant limit 1)
     from tenants t where t.tenant is not null),
   due as (
     select d.id, d.wake_at, row_number() over (partition by t.tenant order by d.wake_at) as place
     from tenants t cross join lateral (
       select r.id, r.wake_at from crud.wf_run r
       where r.tenant = t.tenant and r.wake_at <= (select now from moment) and (r.lease_to is null or r.lease_to <= (select now from moment))
       order by r.wake_at limit $2::int) d),
   picked as (
     select r.id from crud.wf_run r join due d on d.id = r.id
     where r.wake_at <= (select now from moment) and (r.lease_to is null or r.lease_to <= (select now from moment))
     order by d.place > $3::int, d.wake_at limit $2::int for update of r skip locked)
   update crud.wf_run set epoch = epoch + 1, lease_by = $1, lease_to = (select now from moment) + make_interval(secs => $4::float8)
   where id in (select id from picked)
   returning ${RUN_COLUMNS}, (select now from moment) as now`,
);

/** $1 holder, $2 runs, $3 their epochs, $4 seconds. Answers those whose lease was still held. */
export const HEARTBEAT = statement<{ id: string; desired: RunRow["desired"] }>(
  "crud.wf_heartbeat",
  `update crud.wf_run r set lease_to = crud.wf_now() + make_interval(secs => $4::float8)
   from unnest($2::text[], $3::bigint[]) as mine (id, epoch)
   where r.id = mine.id and r.epoch = mine.epoch and r.lease_by = $1 and r.lease_to > crud.wf_now() returning r.id, r.desired`,
);

/** Ends a lease without a word about the run; it is due again after so many seconds. */
export const RELEASE = statement(
  "crud.wf_release",
  `update crud.wf_run set lease_by = null, lease_to = null, wake_at = crud.wf_now() + make_interval(secs => $4::float8)
   where id = $1 and epoch = $2 and lease_by = $3`,
);

export const FENCE = statement("crud.wf_fence", "select crud.wf_fence($1, $2, $3, $4, $5)");

export const REREAD = statement<RunRow>(
  "crud.wf_reread",
  `select ${RUN_COLUMNS} from crud.wf_run where id = $1 and epoch = $2 and lease_by = $3 and lease_to > crud.wf_now()`,
);

/** $2 rows of `StepRow` as JSON. */
export const PUT_STEPS = statement(
  "crud.wf_put_steps",
  `insert into crud.wf_step as s
   select $1, s.path, $3, s.kind, s.status, s.reason, s.attempt, s.retries, s.input, s.output, s.error, s.undo, s.undo_of, s.task_id, s.wake_at,
     s.done_seq, s.started_at, s.ended_at
   from json_to_recordset($2::json) as s (path text, kind text, status text, reason text, attempt int, retries int, input json, output json,
     error json, undo json, undo_of text, task_id text, wake_at timestamptz, done_seq int, started_at timestamptz, ended_at timestamptz)
   on conflict (run_id, path) do update set status = excluded.status, reason = excluded.reason, attempt = excluded.attempt,
     retries = excluded.retries, input = excluded.input, output = excluded.output, error = excluded.error, undo = excluded.undo,
     task_id = excluded.task_id, wake_at = excluded.wake_at, done_seq = excluded.done_seq, started_at = excluded.started_at,
     ended_at = excluded.ended_at`,
);

/** Null as context, output or error: as it is. $13: the lease ends; $14: what was desired is done. */
export const PUT_RUN = statement(
  "crud.wf_put_run",
  `update crud.wf_run set phase = $2, reason = $3, undo_for = $4, state_version = $5::int, context = coalesce($6::json, context),
     output = coalesce($7::json, output), error = coalesce($8::json, error), done_seq = $9::int, cost_micro = $10, cost_steps = $11::int,
     wake_at = case when $13 then $12::timestamptz else wake_at end,
     lease_by = case when $13 then null else lease_by end, lease_to = case when $13 then null else lease_to end,
     ended_at = case when $2 in ('completed', 'faulted', 'cancelled') then crud.wf_now() end,
     desired = case when $14 then null else desired end, updated_at = crud.wf_now()
   where id = $1`,
);

export const OPEN_ATTEMPT = statement(
  "crud.wf_open_attempt",
  `insert into crud.wf_attempt (run_id, path, attempt, tenant, call_id, reservation_id, held_micro, held_steps, is_repeatable, decision_id,
     entry, epoch, opened_at)
   values ($1, $2, $3::int, $4, $5::uuid, $6, $7, $8::int, $9, $10, $11::json, $12, crud.wf_now())`,
);
export const END_ATTEMPT = statement("crud.wf_end_attempt", "select crud.wf_end_attempt($1, $2, $3::int, $4, $5)");
export const CONSUME = statement("crud.wf_consume", "update crud.wf_signal set consumed_by = $3 where run_id = $1 and topic = $2");

const STEPS = statement<StepRow>(
  "crud.wf_steps",
  `select path, kind, status, reason, attempt, retries, input, output, error, undo, undo_of, task_id, wake_at, done_seq, started_at, ended_at
   from crud.wf_step where run_id = $1`,
);
/** One of them. */
export const STEP = statement<StepRow>("crud.wf_step", `${STEPS.text} and path = $2`);
const OPEN_ATTEMPTS = statement<OpenAttempt>(
  "crud.wf_open_attempts",
  `select path, attempt, call_id::text as call_id, reservation_id, held_micro, held_steps, is_repeatable, entry
   from crud.wf_attempt where run_id = $1 and outcome is null`,
);
const SIGNALS = statement<SignalRow>(
  "crud.wf_signals",
  "select topic, signal_id, payload from crud.wf_signal where run_id = $1 and consumed_by is null order by at, signal_id",
);

export const readSignals = async (sql: Sql, run: string): Promise<Map<string, SignalRow>> => {
  const signals = new Map<string, SignalRow>();
  // Of several with one topic the first counts.
  for (const signal of await sql.run(SIGNALS, [run])) if (!signals.has(signal.topic)) signals.set(signal.topic, signal);
  return signals;
};

/** What is stored of a run besides its own row. */
export const readLedger = async (sql: Sql, run: string) => {
  const [steps, attempts, signals] = await Promise.all([sql.run(STEPS, [run]), sql.run(OPEN_ATTEMPTS, [run]), readSignals(sql, run)]);
  return {
    steps: new Map(steps.map((row) => [row.path, row])),
    attempts: new Map(attempts.map((row) => [row.path, row])),
    signals,
  };
};
