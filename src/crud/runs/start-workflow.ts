import { setTimeout as sleep } from "node:timers/promises";
import { Problem } from "#contract/problem.ts";
import type { Change } from "#events/changes/change.ts";
import type { Database } from "#store/database.ts";
import { hideRedacted } from "#crud/model/redacted-parts.ts";
import { hideSealed } from "#crud/model/sealed-values.ts";
import type { Invocation, UpstreamAnswer } from "#crud/tools/tool.ts";
import { wireNameOf } from "#crud/workflows/definition/workflow-tool.ts";
import { shownStatus } from "#crud/workflows/engine/run-events.ts";
import type { RunRow } from "#crud/workflows/engine/run-rows.ts";
import { startRun, type RunCaller } from "#crud/workflows/engine/start-run.ts";
import { readRun, readRunReader } from "#crud/workflows/tasks/run-reader.ts";
import { showRun, type RunView } from "#crud/workflows/tasks/show-run.ts";
import type { TaskCaller, TaskContext } from "#crud/workflows/tasks/task-context.ts";
import { pageOfRun } from "#crud/workflows/tasks/task-port.ts";
import { readWaiting, showWaiting } from "#crud/workflows/tasks/waiting.ts";
import type { VersionedDocument } from "./run-documents.ts";

const FIRST_LOOK_MS = 50;
const LAST_LOOK_MS = 500;
const MAX_ISSUES_OF_START = 50;

/** It ended, or waits for somebody: more time changes nothing. */
const isSettled = ({ phase, reason, ended_at: ended }: RunRow): boolean =>
  ended !== null || phase === "suspended" || (phase === "waiting" && reason !== "timer" && reason !== "retry");

/** Waits until a run has ended, or waits for somebody, at most so long. */
export const awaitRun = async (
  database: Database,
  run: RunRow,
  { maxMs, signal }: { readonly maxMs: number; readonly signal: AbortSignal },
): Promise<RunRow> => {
  const end = performance.now() + maxMs;
  let now = run;
  for (
    let pause = FIRST_LOOK_MS;
    !isSettled(now) && performance.now() < end && !signal.aborted;
    pause = Math.min(2 * pause, LAST_LOOK_MS)
  ) {
    await sleep(Math.min(pause, Math.max(0, end - performance.now())), undefined, { signal }).catch(() => undefined);
    now = (await readRun(database, run)) ?? now;
  }
  return now;
};

/** A run as somebody sees it. */
export const viewRun = async (context: TaskContext, run: RunRow, by: TaskCaller): Promise<RunView> => {
  const waiting = await readWaiting(context.database, run);
  const reader = await readRunReader(context, { run, tasks: waiting.tasks }, by);
  return showRun(run, showWaiting(waiting, reader, context), reader);
};

export interface StarterContext {
  readonly change: Change;
  readonly context: TaskContext;
}

/** The connector of a workflow's tool: starts a run for a call that was permitted, and waits as long as its document says. */
export const startByCall = async (
  { document, configVersion, redactBy = [] }: VersionedDocument,
  call: Invocation,
  { change, context }: StarterContext,
): Promise<UpstreamAnswer> => {
  const { caller, delegationId, decisionId, correlationId } = call;
  const by: RunCaller = { caller, delegationId, decisionId, correlationId };
  const { newId, database, publicOrigin } = context;
  const { run } = await startRun(
    { change, newId, seals: context.seals, digestKey: context.digestKey },
    { document, configVersion, redactBy, input: call.arguments, by, idempotencyKey: call.idempotencyKey },
  );
  const waited = call.isStart === true ? run : await awaitRun(database, run, { maxMs: document.mcp.waitMs, signal: call.signal });
  const { waiting } = waited.phase === "waiting" ? await viewRun(context, waited, by) : { waiting: null };
  return {
    value: {
      accepted: true,
      workflow: wireNameOf(document.name),
      params: hideRedacted([document.input, ...redactBy], call.arguments),
      run_id: run.id,
      status: shownStatus(waited.phase),
      url: `${publicOrigin}${pageOfRun(run.id)}`,
      ...(waiting === null ? {} : { waiting }),
      ...(waited.phase === "completed" ? { output: hideSealed(waited.output) } : {}),
    },
  };
};

/** Issues of arguments are those of the data. */
export const asInput = (error: unknown): never => {
  if (!(error instanceof Problem) || error.code !== "invalid_arguments") throw error;
  const errors = (error.options.errors ?? [])
    .slice(0, MAX_ISSUES_OF_START)
    .map((issue) => ({ ...issue, path: `/data${issue.path === "/" ? "" : issue.path}` }));
  throw new Problem("invalid_input", { ...error.options, errors });
};
