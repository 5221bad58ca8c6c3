import { setTimeout as sleep } from "node:timers/promises";
import { Problem } from "#contract/problem.ts";
import type { EntryDraft } from "#events/audit/entry.ts";
import type { Change } from "#events/changes/change.ts";
import type { Metrics } from "#telemetry/metrics.ts";
import type { Database, TransactionSql } from "#store/database.ts";
import { isSqlError } from "#store/sql-error.ts";
import type { WorkflowDocument } from "#crud/workflows/model/workflow-document.ts";
import { CONSUME, FENCE, PUT_RUN, PUT_STEPS, readLedger, readSignals, REREAD, type ClaimedRun } from "./ledger.ts";
import { runEvents, withAsked } from "./run-events.ts";
import type { OpenAttempt, RunRow, SignalRow, StepRow } from "./run-rows.ts";

/** Another holder has the run, or may have: nothing more is written. */
export class LostLease extends Error {}
/** The run shall not go on here: a verb is to act, or the engine stops. */
export class Stopped extends Error {}
/** What the walk read has changed: it begins again. */
export class Changed extends Error {}

/** Rows and statements of one transaction. */
export interface Write {
  readonly steps?: readonly StepRow[];
  readonly run?: Partial<Pick<RunRow, "phase" | "reason" | "undo_for" | "output" | "error">>;
  readonly entries?: readonly EntryDraft[];
  readonly post?: (sql: TransactionSql) => void | Promise<void>;
  readonly cost?: { readonly micro: bigint; readonly steps: number };
  /** The lease ends with it, and the run is due then; throws `Changed` where a signal came. */
  readonly leave?: { readonly wakeAt: Date | null };
  /** It opens a call: throws `Stopped` where the run is to stop, and what stands against it. Any other write is tried until the lease ends. */
  readonly isStart?: boolean;
  /** What was desired of the run is done by it. */
  readonly isDesired?: boolean;
}

export interface SessionContext {
  readonly database: Database;
  readonly change: Change;
  readonly holder: string;
  readonly leaseMs: number;
  readonly metrics: Pick<Metrics, "count" | "observe">;
}

const RETRY_MS = [50, 100, 200, 500, 1000];
const jsonOf = (value: unknown): string | null => (value === undefined || value === null ? null : JSON.stringify(value));
const isTemporary = (error: unknown, code?: string): boolean =>
  error instanceof Problem && (code === undefined ? error.fails === "internal" : error.code === code);

export type Session = Awaited<ReturnType<typeof openSession>>;

/**
 * A run under a lease: its rows, and the one way to write them. Rows of pure steps wait for the next transaction. Writes are one after
 * another; each begins with the fence.
 */
export const openSession = async (claimed: ClaimedRun, document: WorkflowDocument, parts: SessionContext) => {
  const { database, change, holder } = parts;
  const began = performance.now();
  const { now: at, ...row } = claimed;
  const ledger = await readLedger(database, row.id);
  let run: RunRow = row;
  let { signals } = ledger;
  let leaseEnds = began + parts.leaseMs;
  let stored = run.context;
  let walked = run.wake_seq;
  let isStopping = false;
  let isLost = false;
  const aborted = new AbortController();
  const waiting = new Map<string, StepRow>();
  const posts: ((sql: TransactionSql) => void | Promise<void>)[] = [];
  let last: Promise<unknown> = Promise.resolve();

  const isOver = (): boolean => isLost || performance.now() > leaseEnds;

  const reread = async (): Promise<void> => {
    const [now] = await database.run(REREAD, [run.id, run.epoch, holder]);
    if (now === undefined) throw new LostLease();
    // What this holder alone writes is newer here.
    run = { ...run, ...pick(now) };
    signals = await readSignals(database, run.id);
  };

  const write = async (build: () => Write): Promise<void> => {
    if (isOver()) throw new LostLease();
    const made = build();
    if (made.isStart === true && (isStopping || run.desired !== null)) throw new Stopped();
    for (const step of made.steps ?? []) put(step);
    const steps = [...waiting.values()];
    const sent = [...posts];
    const isUndoing = run.phase === "undoing";
    const { phase = isUndoing ? "undoing" : "running", reason = isUndoing ? run.reason : null } = made.run ?? {};
    let isRepeated = false;
    for (let attempt = 0; ; attempt++) {
      const isNew = phase !== run.phase || reason !== run.reason || (made.leave !== undefined && steps.length > 0);
      const fields = {
        ...made.run,
        phase,
        reason,
        state_version: run.state_version + (isNew ? 1 : 0),
        cost_micro: run.cost_micro + (made.cost?.micro ?? 0n),
        cost_steps: run.cost_steps + (made.cost?.steps ?? 0),
      };
      const next: RunRow = { ...run, ...fields };
      try {
        await change(async (sql) => {
          sql.post(FENCE, [run.id, run.epoch, holder, run.state_version, made.leave === undefined ? null : walked]);
          if (steps.length > 0) sql.post(PUT_STEPS, [run.id, JSON.stringify(steps), run.tenant]);
          sql.post(PUT_RUN, runValues(next, made, next.context !== stored));
          for (const post of sent) await post(sql);
          await made.post?.(sql);
          return { result: undefined, entries: made.entries ?? [], events: runEvents(run, next, await withAsked(sql, steps)) };
        });
        run = { ...run, ...fields };
      } catch (error) {
        const outcome = await judge(error, made, isRepeated);
        if (outcome === "again") {
          isRepeated ||= !isSqlError(error, "WF002");
          if (isRepeated) await sleep(RETRY_MS[Math.min(attempt, RETRY_MS.length - 1)]);
          continue;
        }
        // It was committed before: only its answer was lost.
        run = { ...run, ...fields, state_version: run.state_version };
      }
      for (const step of steps) {
        if (waiting.get(step.path) === step) waiting.delete(step.path);
        countStep(step, parts.metrics);
      }
      posts.splice(0, sent.length);
      stored = next.context;
      if (made.isDesired === true) run = { ...run, desired: null };
      return;
    }
  };

  /** Of a transaction that failed: whether it is tried again or was committed before; else throws. */
  const judge = async (error: unknown, made: Write, isRepeated: boolean): Promise<"again" | "done"> => {
    const isDone = isRepeated && (isSqlError(error, "WF003") || isSqlError(error, "23505", "wf_attempt_pkey"));
    if (isSqlError(error, "WF001")) throw new LostLease("", { cause: error });
    if (isDone || isSqlError(error, "WF002")) {
      try {
        await reread();
      } catch (cause) {
        if (isTemporary(cause) && !isOver()) return "again";
        throw cause;
      }
      if (made.leave !== undefined) throw new Changed("", { cause: error });
      if (isDone) return "done";
      if (isRepeated || made.isStart !== true || run.desired === null) return "again";
    } else if (isTemporary(error, made.isStart === true ? "store_unavailable" : undefined)) {
      if (!isOver()) return "again";
      throw new LostLease("", { cause: error });
    }
    for (const step of made.steps ?? []) waiting.delete(step.path);
    throw isSqlError(error, "WF002") ? new Stopped("", { cause: error }) : error;
  };

  const put = (step: StepRow): void => {
    ledger.steps.set(step.path, step);
    waiting.set(step.path, step);
  };

  return {
    document,
    get run() {
      return run;
    },
    steps: ledger.steps as ReadonlyMap<string, StepRow>,
    /** Attempts that were open when the lease was taken: of a holder that is gone. */
    lost: ledger.attempts as Map<string, OpenAttempt>,
    /** By topic; none that a step consumed. */
    get signals(): ReadonlyMap<string, SignalRow> {
      return signals;
    },
    now: (): Date => new Date(Date.parse(at) + performance.now() - began),
    /** Aborted when the lease is lost, and when calls shall not go on. */
    signal: aborted.signal,
    /** A walk begins: what comes after this moment is not in what it reads, so that it does not end the lease. */
    begin: (): void => void (walked = run.wake_seq),
    /** Rides with the next transaction. */
    put,
    post: (work: (sql: TransactionSql) => void | Promise<void>): void => void posts.push(work),
    /** Rows and statements that wait. */
    pending: (): number => waiting.size + posts.length,
    /** Rides with the next transaction. */
    setContext: (context: unknown): void => {
      run = { ...run, context };
    },
    nextDone: (): number => {
      run = { ...run, done_seq: run.done_seq + 1 };
      return run.done_seq;
    },
    /** What a step consumed rides with its row. */
    consume: (topic: string, path: string): void => {
      signals.delete(topic);
      posts.push((sql) => sql.post(CONSUME, [run.id, topic, path]));
    },
    /** `build` is called when it is this write's turn. Throws `LostLease`, `Stopped`, `Changed`, and what the transaction throws. */
    write: (build: () => Write): Promise<void> => {
      const done = last.then(() => write(build));
      last = done.catch(() => undefined);
      return done;
    },
    renewed: (): void => void (leaseEnds = performance.now() + parts.leaseMs),
    isOver,
    stop: (): void => void (isStopping = true),
    abort: (): void => aborted.abort(),
    lose: (): void => {
      isLost = true;
      aborted.abort();
    },
  };
};

const countStep = ({ kind, status, started_at, ended_at }: StepRow, metrics: SessionContext["metrics"]): void => {
  if (status !== "done" && status !== "failed" && status !== "unknown") return;
  if (kind === "undo") metrics.count("workflow_undo_total", { outcome: status });
  metrics.count("workflow_steps_total", { kind, outcome: status });
  if (ended_at !== null)
    metrics.observe("workflow_step_duration_seconds", { kind }, (Date.parse(ended_at) - Date.parse(started_at)) / 1000);
};

/** What others write of a run while somebody has its lease. */
const pick = ({ state_version, wake_seq, desired, acr, auth_time }: RunRow) => ({ state_version, wake_seq, desired, acr, auth_time });

const runValues = (run: RunRow, { leave, isDesired = false }: Write, isContextNew: boolean) => [
  run.id,
  run.phase,
  run.reason,
  run.undo_for,
  run.state_version,
  isContextNew ? jsonOf(run.context) : null,
  jsonOf(run.output),
  jsonOf(run.error),
  run.done_seq,
  run.cost_micro,
  run.cost_steps,
  leave?.wakeAt ?? null,
  leave !== undefined,
  isDesired,
];
