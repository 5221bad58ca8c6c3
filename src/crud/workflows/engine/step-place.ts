import type { Value } from "#crud/workflows/model/workflow-document.ts";
import { isObject } from "#contract/is-object.ts";
import type { StepError, StepRow } from "./run-rows.ts";
import type { Session } from "./run-session.ts";
import type { Expressions, Scope, StepCalls, TaskPort } from "./step-calls.ts";
import { catches, errorOf, evaluating, retryDelay, StepFailure, type Trying } from "./step-errors.ts";

/** Rows of a run, as far as its walk reads and writes them. */
export type WalkSession = Pick<
  Session,
  | "document"
  | "run"
  | "steps"
  | "lost"
  | "signals"
  | "now"
  | "signal"
  | "put"
  | "post"
  | "pending"
  | "setContext"
  | "nextDone"
  | "consume"
  | "write"
>;

/** What the walk of one run works with. */
export interface WalkContext {
  readonly session: WalkSession;
  readonly calls: StepCalls;
  readonly tasks: TaskPort;
  readonly expressions: Expressions;
  /** UUIDv7. */
  readonly newId: () => string;
  readonly deniedGraceMs: number;
}

/** How a step or a list ended for now. `value` undefined: it has none, and that of the step before stays. */
export type Flow =
  | { readonly kind: "done"; readonly value?: unknown; readonly next?: string; readonly isEnd?: boolean; readonly steps?: Scope }
  | { readonly kind: "parked"; readonly wakeAt: number }
  | { readonly kind: "failed"; readonly error: StepError };

/** Where a step stands. */
export interface Place {
  readonly path: string;
  readonly kind: string;
  /** Variables; `now` is the moment at which the step was entered first. */
  readonly scope: Scope;
  /** Innermost first. */
  readonly tries: readonly Trying[];
  /** Milliseconds since 1970; the earliest of the timeouts around it. */
  readonly deadline: number;
  readonly startedAt: string;
}

/** What becomes of a step's result. */
export interface Shaping {
  readonly outputAs?: Value;
  readonly exportAs?: Value;
  readonly compensate?: { readonly tool: string; readonly with: Value };
}

export const MAX_VALUE_BYTES = 262_144;
const MAX_STEPS = 10_000;

/** Throws `StepFailure` for a value that is too large to be stored. */
export const requireSize = (value: unknown): void => {
  if (value !== undefined && Buffer.byteLength(JSON.stringify(value)) > MAX_VALUE_BYTES)
    throw new StepFailure({ ...errorOf("runtime", `A value has at most ${MAX_VALUE_BYTES} bytes.`), title: "result_too_large" });
};

/** The row of a step with a new state; what it waited for and its error go. Throws `StepFailure` beyond 10,000 steps. */
export const rowOf = (
  { session }: Pick<WalkContext, "session">,
  place: Place,
  more: Partial<StepRow> & Pick<StepRow, "status">,
): StepRow => {
  const stored = session.steps.get(place.path);
  if (stored === undefined && more.status !== "failed" && session.steps.size >= MAX_STEPS)
    throw new StepFailure({ ...errorOf("runtime", `A run has at most ${MAX_STEPS} steps.`), title: "limit" });
  return {
    path: place.path,
    kind: place.kind,
    attempt: 0,
    retries: 0,
    input: null,
    output: null,
    undo: null,
    undo_of: place.kind === "undo" ? place.path.slice(0, -"~undo".length) : null,
    task_id: null,
    done_seq: null,
    started_at: place.startedAt,
    ...stored,
    reason: null,
    error: null,
    wake_at: null,
    ended_at: ["running", "waiting", "unknown"].includes(more.status) ? null : session.now().toISOString(),
    ...more,
  };
};

const undoOf = ({ tool, with: input }: NonNullable<Shaping["compensate"]>, scope: Scope, { evaluate }: Expressions): StepRow["undo"] => {
  try {
    return { tool, input: evaluating(() => evaluate(input, scope)) };
  } catch (error) {
    if (error instanceof StepFailure) return { tool, error: error.error };
    throw error;
  }
};

/** The row of a step that is done. The context that it exports is set at once, so it goes with the same transaction. Throws `StepFailure`. */
export const doneRow = (parts: WalkContext, place: Place, { raw, shaping = {} }: { raw: unknown; shaping?: Shaping }): StepRow => {
  const { session, expressions } = parts;
  const { outputAs, exportAs, compensate } = shaping;
  const shaped = (value: Value, output: unknown): unknown => {
    const made = evaluating(() => expressions.evaluate(value, { ...place.scope, context: session.run.context, output }));
    requireSize(made);
    return made;
  };
  requireSize(raw);
  const output = outputAs === undefined ? raw : shaped(outputAs, raw);
  const context = exportAs === undefined ? undefined : shaped(exportAs, output);
  if (context !== undefined && !isObject(context)) throw new StepFailure(errorOf("expression", "What is exported is no object."));
  const undo = compensate === undefined ? null : undoOf(compensate, { ...place.scope, output: raw }, expressions);
  const row = rowOf(parts, place, { status: "done", output, undo, done_seq: session.nextDone() });
  if (context !== undefined) session.setContext(context);
  return row;
};

/** The row of a step that failed: it waits for its next attempt where a `try` around it retries the error. */
export const failedRow = (parts: WalkContext, place: Place, failure: StepError): StepRow => {
  const { session, expressions } = parts;
  const error = { ...failure, instance: place.path };
  const retries = session.steps.get(place.path)?.retries ?? 0;
  const now = session.now().getTime();
  const trying = place.tries.find((one) => catches(one, error, expressions));
  const tried = { error, retries, elapsedMs: now - Date.parse(place.startedAt) };
  const delay = trying === undefined ? undefined : retryDelay(trying, tried, expressions);
  if (delay === undefined) return rowOf(parts, place, { status: "failed", error });
  const wake_at = new Date(now + delay).toISOString();
  return rowOf(parts, place, { status: "waiting", reason: "retry", retries: retries + 1, wake_at, error });
};

/** What a stored state means to the list that the step stands in. */
export const flowOf = ({ status, output, error, wake_at }: StepRow): Flow => {
  if (status === "failed" && error !== null) return { kind: "failed", error };
  if (status === "done" || status === "undone") return { kind: "done", value: output ?? undefined };
  if (status === "skipped") return { kind: "done", next: "continue" };
  return { kind: "parked", wakeAt: wake_at === null ? Infinity : Date.parse(wake_at) };
};

/** Ends what waits below a path, or everywhere. */
export const cancelBelow = ({ session, tasks }: Pick<WalkContext, "session" | "tasks">, path: string): void => {
  for (const row of session.steps.values()) {
    if (!row.path.startsWith(path) || !["waiting", "unknown", "running"].includes(row.status)) continue;
    session.put({ ...row, status: "cancelled", reason: null, wake_at: null, ended_at: session.now().toISOString() });
    const { task_id: task } = row;
    if (task !== null && row.reason !== "retry") session.post((sql) => tasks.closeTask(sql, task, "CANCELLED"));
  }
};
