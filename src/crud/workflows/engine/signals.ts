import { statement, type Database, type TransactionSql } from "#store/database.ts";
import { WAKE } from "./start-run.ts";

/** What a run waits for has come; an early one stays until a step consumes it. */
export interface Signal {
  readonly run: string;
  readonly tenant: string;
  /** Id of the task. */
  readonly topic: string;
  /** The same id again has no effect. */
  readonly signalId: string;
  /** Of a task: `decision`, `data`, `completed_at`, `decided_by`. */
  readonly payload: Readonly<Record<string, unknown>>;
}

const INSERT = statement<{ id: string }>(
  "crud.wf_signal",
  `insert into crud.wf_signal (run_id, topic, signal_id, tenant, payload, at)
   select id, $3, $4, tenant, $5::json, crud.wf_now() from crud.wf_run where id = $1 and tenant = $2
   on conflict do nothing returning run_id as id`,
);
/** A suspended run stays as it is; the signal waits with it. `acr` and time of a new sign-in take the place of the old. */
const DUE = statement(
  "crud.wf_due",
  `update crud.wf_run set wake_seq = wake_seq + 1, state_version = state_version + 1,
     wake_at = case when phase in ('pending', 'running', 'waiting', 'undoing') then crud.wf_now() end,
     acr = coalesce($2, acr), auth_time = coalesce(to_timestamp($3::float8), auth_time)
   where id = $1 and ended_at is null`,
);
const RECHECK = statement<{ id: string }>(
  "crud.wf_recheck",
  `update crud.wf_run set wake_seq = wake_seq + 1, wake_at = crud.wf_now()
   where id in (
     select id from crud.wf_run where phase in ('waiting', 'undoing') and id in (
       select run_id from crud.wf_step where tenant = $1 and status = 'waiting' and reason in ('denied', 'budget', 'unavailable'))
     for no key update skip locked) returning id`,
);

/** In the transaction of what happened. Answers whether it was the first of its id. */
export const signal = async (sql: TransactionSql, { run, tenant, topic, signalId, payload }: Signal): Promise<boolean> => {
  const [first] = await sql.run(INSERT, [run, tenant, topic, signalId, JSON.stringify(payload)]);
  if (first !== undefined) wakeRun(sql, run);
  return first !== undefined;
};

/** The run is due: its initiator resumes it, where need be with a newer sign-in. */
export const wakeRun = (sql: TransactionSql, run: string, signIn?: { readonly acr: string; readonly authTime: number }): void => {
  sql.post(DUE, [run, signIn?.acr ?? null, signIn?.authTime ?? null]);
  sql.post(WAKE);
};

/** Policies, graph, tools or budgets of a tenant changed: what was denied is decided anew. Answers how many runs. */
export const recheckRuns = async (database: Database, tenant: string): Promise<number> => {
  const woken = await database.run(RECHECK, [tenant]);
  if (woken.length > 0) await database.notify("wf_wake", "");
  return woken.length;
};
