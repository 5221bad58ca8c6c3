import { Problem } from "#contract/problem.ts";
import type { Change } from "#events/changes/change.ts";
import { statement } from "#store/database.ts";
import { RUN_COLUMNS } from "./ledger.ts";
import { runEvents } from "./run-events.ts";
import type { RunRow } from "./run-rows.ts";
import { runEntry, WAKE, type RunCaller } from "./start-run.ts";

export type Verb = "cancel" | "suspend" | "unsuspend" | "retry" | "takeover";

export interface VerbCall {
  readonly run: string;
  readonly verb: Verb;
  /** Of the run's tenant. */
  readonly by: RunCaller;
  /** As `If-Match` has it. */
  readonly stateVersion?: number | undefined;
  /** Of `cancel`: whether done steps are undone; true unless given. */
  readonly isUndone?: boolean;
  /** Of `retry`: the failed step; the one that ended the run unless given. */
  readonly path?: string | undefined;
}

const LOCK = statement<RunRow & { readonly is_leased: boolean }>(
  "crud.wf_lock",
  `select ${RUN_COLUMNS}, coalesce(lease_to > crud.wf_now(), false) as is_leased from crud.wf_run where id = $1 and tenant = $2 for no key update`,
);
/** $2: what is desired of the holder, or of the next. */
const DESIRE = statement<RunRow>(
  "crud.wf_desire",
  `update crud.wf_run set desired = $2, state_version = state_version + 1, wake_seq = wake_seq + 1, wake_at = crud.wf_now()
   where id = $1 returning ${RUN_COLUMNS}`,
);
/** $4: due now; $5: the subject acts alone from now on; $6: its error is over, and its time begins anew. */
const MOVE = statement<RunRow>(
  "crud.wf_move",
  `update crud.wf_run set phase = $2, reason = $3, epoch = epoch + 1, state_version = state_version + 1, wake_seq = wake_seq + 1, ended_at = null,
     lease_by = null, lease_to = null, desired = null, wake_at = case when $4 then crud.wf_now() end, updated_at = crud.wf_now(),
     agent = case when $5 then null else agent end, delegation_id = case when $5 then null else delegation_id end,
     error = case when $6 then null else error end, deadline = case when $6 then crud.wf_now() + (deadline - created_at) else deadline end
   where id = $1 returning ${RUN_COLUMNS}`,
);
/** Failed steps run again at once; what was cancelled with them, and blocks around them, begin their time anew. */
const RETRY = statement<{ path: string }>(
  "crud.wf_retry",
  `with renewed as (
     update crud.wf_step set started_at = crud.wf_now() where run_id = $1 and status in ('cancelled', 'running') and undo_of is null)
   update crud.wf_step set status = 'waiting', reason = 'retry', retries = 0, wake_at = crud.wf_now(), started_at = crud.wf_now(), ended_at = null
   where run_id = $1 and status = 'failed' and (path = $2 or ($2::text is null and path like '%~undo')) returning path`,
);
const REVOKE = statement<RunRow & { readonly was: string; readonly was_reason: string | null }>(
  "crud.wf_revoke",
  `with live as materialized (
     select id, phase as was, reason as was_reason, coalesce(lease_to > crud.wf_now(), false) as leased from crud.wf_run
     where delegation_id = $1 and ended_at is null and phase <> 'suspended' order by id for no key update)
   update crud.wf_run r set desired = case when leased then 'revoke' end, phase = case when leased then phase else 'suspended' end,
     reason = case when leased then reason else 'revoked' end, epoch = case when leased then epoch else epoch + 1 end,
     wake_at = case when leased then wake_at end, state_version = state_version + 1, updated_at = crud.wf_now()
   from live where r.id = live.id returning ${RUN_COLUMNS.replace("id,", "r.id,")}, was, was_reason`,
);

const canBeRetried = ({ reason }: RunRow): boolean => reason === "error" || reason === "compensation_incomplete";

/** Verbs that the phase of a run permits. */
export const allowedVerbs = (run: RunRow): readonly Verb[] => {
  switch (run.phase) {
    case "suspended":
      return run.reason === "revoked" ? ["cancel", "unsuspend", "takeover"] : ["cancel", "unsuspend"];
    case "pending":
    case "running":
    case "waiting":
      return ["cancel", "suspend"];
    case "undoing":
      return ["suspend"];
    case "faulted":
      return canBeRetried(run) ? ["retry"] : [];
    case "completed":
    case "cancelled":
      return [];
  }
};

/**
 * One transaction with its audit entry. While an engine has the lease, `cancel` and `suspend` act at its next fence: a call that is open ends
 * first. Throws `not_found`, `stale_version`, `wrong_phase`.
 */
export const actOnRun = (change: Change, { run: id, verb, by, ...more }: VerbCall): Promise<RunRow> =>
  change(async (sql) => {
    const [found] = await sql.run(LOCK, [id, by.caller.tenant]);
    if (found === undefined) throw new Problem("not_found");
    const { is_leased: isLeased, ...before } = found;
    if (more.stateVersion !== undefined && more.stateVersion !== before.state_version) throw new Problem("stale_version");
    if (!allowedVerbs(before).includes(verb)) throw new Problem("wrong_phase", { members: { allowed_verbs: allowedVerbs(before) } });
    const move = (phase: RunRow["phase"], reason: string | null, isRetry = false) =>
      sql.run(MOVE, [id, phase, reason, phase !== "suspended", verb === "takeover", isRetry]);
    const isUndoing = before.undo_for !== null;
    const act = async () => {
      if (verb === "cancel") return sql.run(DESIRE, [id, more.isUndone === false ? "cancel" : "cancel_undo"]);
      if (verb === "suspend") return isLeased ? sql.run(DESIRE, [id, "suspend"]) : move("suspended", "operator");
      if (verb === "retry") {
        const path = isUndoing ? null : (more.path ?? before.error?.instance ?? null);
        const renewed = await sql.run(RETRY, [id, path]);
        if (renewed.length === 0 && more.path !== undefined)
          throw new Problem("unprocessable", { errors: [{ path: "/path", message: "names no failed step" }] });
      }
      return move(isUndoing ? "undoing" : "running", before.undo_for, verb === "retry" && !isUndoing);
    };
    const [run] = await act();
    if (run === undefined) throw new Problem("not_found");
    sql.post(WAKE);
    return { result: run, entries: [runEntry(run, verb, by)], events: runEvents(before, run, []) };
  });

const NOTE = statement<RunRow>(
  "crud.wf_note_rerun",
  `update crud.wf_run set state_version = state_version + 1, updated_at = crud.wf_now()
   where id = $1 and tenant = $2 and state_version = $3::int returning ${RUN_COLUMNS}`,
);
/** What had ended was started again as another run. Nothing is noted of a version that is over. */
export const noteRerun = (change: Change, run: RunRow, { by, as }: { readonly by: RunCaller; readonly as: string }): Promise<void> =>
  change(async (sql) => {
    const [noted] = await sql.run(NOTE, [run.id, run.tenant, run.state_version]);
    if (noted === undefined) return { result: undefined };
    const entry = runEntry(noted, "rerun", by);
    return { result: undefined, entries: [{ ...entry, data: { ...entry.data, as } }] };
  });

/** A delegation has ended, or its agent is suspended: its runs stop, and only a person takes them over. Answers how many. */
export const revokeRuns = (change: Change, delegation: string): Promise<number> =>
  change(async (sql) => {
    const revoked = await sql.run(REVOKE, [delegation]);
    const events = revoked.flatMap(({ was, was_reason: reason, ...run }) =>
      runEvents({ ...run, phase: was as RunRow["phase"], reason }, run, []),
    );
    return { result: revoked.length, events };
  });
