import type { EventDraft } from "#events/model/event-draft.ts";
import type { Phase, RunRow, StepRow } from "./run-rows.ts";

/** Phase as clients see it. */
export const shownStatus = (phase: Phase): Exclude<Phase, "undoing"> => (phase === "undoing" ? "running" : phase);

const draftOf = (run: RunRow, type: string, more: Readonly<Record<string, unknown>> = {}): EventDraft => ({
  type,
  tenant: run.tenant,
  stream: "workflow",
  kind: "workflow",
  key: run.id,
  visibleTo: [run.subject, ...(run.agent === null ? [] : [run.agent])],
  correlationId: run.correlation_id,
  data: {
    run_id: run.id,
    workflow: run.name,
    version: run.version,
    status: shownStatus(run.phase),
    phase: run.phase,
    ...(run.reason === null ? {} : { reason: run.reason }),
    state_version: run.state_version,
    ...more,
  },
});

const words: Readonly<Partial<Record<StepRow["status"], string>>> = {
  running: "started",
  done: "completed",
  unknown: "failed",
  undone: "compensated",
};

const stepEvent = (run: RunRow, { path, kind, status, reason, attempt, task_id }: StepRow): EventDraft =>
  draftOf(run, `step.${reason === "retry" ? "retrying" : (words[status] ?? status)}`, {
    step: { path, name: path.slice(path.lastIndexOf("/") + 1), kind, status, attempt },
    ...(task_id === null ? {} : { task_id }),
  });

/** What is published of a change of a run and its steps, in order. */
export const runEvents = (before: RunRow | undefined, run: RunRow, steps: readonly StepRow[]): readonly EventDraft[] => [
  ...steps.map((step) => stepEvent(run, step)),
  ...(before?.phase === run.phase && before.reason === run.reason ? [] : [draftOf(run, `run.${run.phase}`)]),
];
