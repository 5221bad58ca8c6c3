import type { HumanStep } from "#crud/workflows/model/workflow-document.ts";
import { idOf } from "./run-ids.ts";
import type { StepRow } from "./run-rows.ts";
import { errorOf, evaluating, StepFailure } from "./step-errors.ts";
import { doneRow, flowOf, rowOf, type Flow, type Place, type WalkContext } from "./step-place.ts";

const MAX_OPEN_TASKS = 32;
const EVALUATED = ["title", "description", "assign", "data", "evidence"] as const;

/** Opens a task and waits for the signal of its id, or for its expiry. Throws `StepFailure` where it is rejected or has expired. */
export const humanStep = (parts: WalkContext, place: Place, step: HumanStep): Flow => {
  const { session } = parts;
  const row = session.steps.get(place.path);
  return row?.status === "waiting" && row.reason === "human" ? waitFor(parts, place, { step, row }) : ask(parts, place, step);
};

const ask = (parts: WalkContext, place: Place, step: HumanStep): Flow => {
  const { session, tasks } = parts;
  if ([...session.steps.values()].filter(({ reason }) => reason === "human").length >= MAX_OPEN_TASKS)
    throw new StepFailure({ ...errorOf("runtime", `A run has at most ${MAX_OPEN_TASKS} open tasks.`), title: "limit" });
  const id = idOf("task", parts.newId());
  const { required, separationOfDuties, form, decisions, taskKind: kind } = step;
  const evaluated = Object.fromEntries(
    EVALUATED.map((name) => [
      name,
      step[name] === undefined ? undefined : evaluating(() => parts.expressions.evaluate(step[name], place.scope)),
    ]),
  );
  const fields = { ...evaluated, required, separationOfDuties, form };
  const now = session.now().getTime();
  const expiresAt = new Date(now + step.expiresMs);
  const dueAt = step.dueMs === undefined ? undefined : new Date(now + step.dueMs);
  const waiting = rowOf(parts, place, { status: "waiting", reason: "human", task_id: id, wake_at: expiresAt.toISOString() });
  session.put(waiting);
  const draft = { id, path: place.path, kind, decisions, fields, dueAt, expiresAt, owner: session.document.owner };
  session.post((sql) => tasks.openTask(sql, { ...draft, run: session.run }));
  return flowOf(waiting);
};

const waitFor = (parts: WalkContext, place: Place, { step, row }: { readonly step: HumanStep; readonly row: StepRow }): Flow => {
  const { session, tasks } = parts;
  const { task_id: id, wake_at } = row;
  if (id === null || wake_at === null) return flowOf(row);
  const signal = session.signals.get(id);
  if (signal !== undefined) {
    const { decision, data = null, completed_at, decided_by } = signal.payload;
    session.consume(id, place.path);
    if (decision === "reject" && step.onReject === "raise")
      throw new StepFailure({ type: "urn:sallyport:error:rejected", status: 403, detail: "The task was rejected." });
    return finish(parts, place, { step, raw: { decision, data, task_id: id, completed_at, decided_by } });
  }
  const now = session.now();
  if (now.getTime() < Date.parse(wake_at)) return flowOf(row);
  if (step.onExpire === "raise") throw new StepFailure(errorOf("timeout", "The task has expired."));
  session.post((sql) => tasks.closeTask(sql, id, "EXPIRED"));
  return finish(parts, place, {
    step,
    raw: { decision: "expired", data: null, task_id: id, completed_at: now.toISOString(), decided_by: [] },
  });
};

const finish = (parts: WalkContext, place: Place, { step, raw }: { readonly step: HumanStep; readonly raw: unknown }): Flow => {
  const row = doneRow(parts, place, { raw, shaping: step });
  parts.session.put(row);
  return flowOf(row);
};
