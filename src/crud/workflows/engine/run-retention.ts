import { startInterval, type Interval } from "#http/interval.ts";
import { statement, type Database } from "#store/database.ts";
import type { Log } from "#telemetry/log.ts";
import type { Metrics } from "#telemetry/metrics.ts";

export interface RetentionContext {
  readonly database: Database;
  readonly log: Log;
  readonly metrics: Metrics;
  /** Values of ended runs. */
  readonly payloadDays: number;
  /** Rows of ended runs. */
  readonly retentionDays: number;
  readonly idempotencyDays: number;
  readonly everyMs?: number;
}

const EVERY_MS = 60_000;
const MAX_RUNS = 500;
const taskKinds = ["approval", "form", "choice", "unknown_outcome"];

const BLANK = statement<{ id: string }>(
  "crud.wf_blank",
  `with old as (
     select id from crud.wf_run where ended_at < crud.wf_now() - make_interval(days => $1::int) and not is_blanked
     order by ended_at limit ${MAX_RUNS} for update skip locked),
   steps as (update crud.wf_step set input = null, output = null, undo = null where run_id in (select id from old)),
   tasks as (update crud.task set prefill = null, evidence = null, evidence_digest = '' where run_id in (select id from old)),
   decisions as (
     update crud.task_decision set data = null, comment = null, evidence_digest = ''
     where task_id in (select id from crud.task where run_id in (select id from old))),
   answers as (delete from crud.wf_idempotency where scope in (select id from old)),
   signals as (update crud.wf_signal set payload = '{}' where run_id in (select id from old))
   update crud.wf_run set input = null, context = null, output = null, is_blanked = true where id in (select id from old) returning id`,
);
const DELETE = statement<{ id: string }>(
  "crud.wf_delete",
  `delete from crud.wf_run where id in (
     select id from crud.wf_run where ended_at < crud.wf_now() - make_interval(days => $1::int) order by ended_at limit ${MAX_RUNS}
     for update skip locked) returning id`,
);
const FREE_KEYS = statement(
  "crud.wf_free_keys",
  `update crud.wf_run set idem_key = null, idem_hash = null
   where idem_key is not null and created_at < crud.wf_now() - make_interval(days => $1::int)`,
);
const FREE_ANSWERS = statement(
  "crud.wf_free_answers",
  "delete from crud.wf_idempotency where at < crud.wf_now() - make_interval(days => $1::int)",
);
const OPEN_TASKS = statement<{ kind: string; tasks: number }>(
  "crud.wf_open_tasks",
  "select kind, count(*)::int4 as tasks from crud.task where status = 'PENDING' group by kind",
);
const COUNT = statement<{ phase: string; reason: string | null; runs: number }>(
  "crud.wf_count",
  "select phase, reason, count(*)::int4 as runs from crud.wf_run where ended_at is null group by phase, reason",
);

/** Each minute: counts live runs, blanks values of ended ones, deletes rows and frees keys whose time is over. Never audit entries. */
export const startRunRetention = (context: RetentionContext): Interval => {
  const { database, metrics, log } = context;
  let known: readonly { readonly phase: string; readonly reason: string }[] = [];
  return startInterval({
    everyMs: context.everyMs ?? EVERY_MS,
    work: async (signal) => {
      const counts = (await database.run(COUNT)).map(({ phase, reason, runs }) => ({ labels: { phase, reason: reason ?? "" }, runs }));
      for (const labels of known) metrics.set("workflow_runs", labels, 0);
      for (const { labels, runs } of counts) metrics.set("workflow_runs", labels, runs);
      known = counts.map(({ labels }) => labels);
      const open = new Map((await database.run(OPEN_TASKS)).map(({ kind, tasks }) => [kind, tasks]));
      for (const kind of taskKinds) metrics.set("tasks_open", { kind }, open.get(kind) ?? 0);
      await database.run(FREE_KEYS, [context.idempotencyDays]);
      await database.run(FREE_ANSWERS, [context.idempotencyDays]);
      while (!signal.aborted && (await database.run(DELETE, [context.retentionDays])).length === MAX_RUNS);
      while (!signal.aborted && (await database.run(BLANK, [context.payloadDays])).length === MAX_RUNS);
    },
    failed: (cause) => log.warn("workflow_retention_failed", { cause }),
  });
};
