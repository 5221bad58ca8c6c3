import type { EventDraft } from "#events/model/event-draft.ts";
import { statement, type Sql } from "#store/database.ts";
import type { Phase, RunRow, StepRow } from "./run-rows.ts";

const ASKED = statement<{ task_id: string; identity: string }>(
  "crud.wf_asked",
  "select task_id, identity from crud.task_approver where task_id = any($1::text[]) and source <> 'excluded'",
);

/** A step, with those who are asked to act on its task: persons, groups and roles. */
export type ReportedStep = StepRow & { readonly asked?: readonly string[] };

/** Adds who is asked, in the transaction that writes the tasks. No statement where no step has a task. */
export const withAsked = async (sql: Sql, steps: readonly StepRow[]): Promise<readonly ReportedStep[]> => {
  const ids = steps.flatMap(({ task_id: id }) => id ?? []);
  if (ids.length === 0) return steps;
  const asked = Map.groupBy(await sql.run(ASKED, [ids]), (row) => row.task_id);
  return steps.map((step) => ({ ...step, asked: asked.get(step.task_id ?? "")?.map(({ identity }) => identity) ?? [] }));
};

/** Phase as clients see it. */
export const shownStatus = (phase: Phase): Exclude<Phase, "undoing"> => (phase === "undoing" ? "running" : phase);

/** Who sees it without the right to see all runs; who controls the agent is found by who reads. */
const viewersOf = ({ subject, agent }: RunRow): readonly string[] => [subject, ...(agent === null ? [] : [agent])];

const draftOf = (run: RunRow, type: string, more: Readonly<Record<string, unknown>> = {}): EventDraft => ({
  type,
  tenant: run.tenant,
  stream: "workflow",
  kind: "workflow",
  key: run.id,
  visibleTo: viewersOf(run),
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

const stepEvent = (run: RunRow, { path, kind, status, reason, attempt, task_id, asked = [] }: ReportedStep): EventDraft => ({
  ...draftOf(run, `step.${reason === "retry" ? "retrying" : (words[status] ?? status)}`, {
    step: { path, name: path.slice(path.lastIndexOf("/") + 1), kind, status, attempt },
    ...(task_id === null ? {} : { task_id }),
  }),
  visibleTo: [...new Set([...viewersOf(run), ...asked])],
});

/** What is published of a change of a run and its steps, in order. */
export const runEvents = (before: RunRow | undefined, run: RunRow, steps: readonly ReportedStep[]): readonly EventDraft[] => [
  ...steps.map((step) => stepEvent(run, step)),
  ...(before?.phase === run.phase && before.reason === run.reason ? [] : [draftOf(run, `run.${run.phase}`)]),
];
