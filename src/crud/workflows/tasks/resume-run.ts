import { Problem } from "#contract/problem.ts";
import type { EntryDraft } from "#events/audit/entry.ts";
import type { Change } from "#events/changes/change.ts";
import type { EventDraft } from "#events/model/event-draft.ts";
import type { TransactionSql } from "#store/database.ts";
import { keyedDigest } from "#crud/model/digest.ts";
import type { RunRow } from "#crud/workflows/engine/run-rows.ts";
import { wakeRun } from "#crud/workflows/engine/signals.ts";
import { runEntry, type RunCaller } from "#crud/workflows/engine/start-run.ts";
import { actOnRun } from "#crud/workflows/engine/verbs.ts";
import { requireAllowed, requireData, requireOpen, requireSeparate, requireVersion, requireWaiting, type Answer } from "./check-answer.ts";
import { decideTask } from "./decide-task.ts";
import { findAnswer, storeAnswer, type KeyedRequest } from "./idempotency.ts";
import { lockRun, readRun, readRunReader, refuseAbsent } from "./run-reader.ts";
import { showRun, type RunView } from "./show-run.ts";
import { showTask, taskQuestion, type TaskView } from "./show-task.ts";
import type { TaskCaller, TaskContext } from "./task-context.ts";
import { readTask, type TaskState } from "./task-rows.ts";
import { isSeparated } from "./task-standing.ts";
import { needsInitiator, readWaiting, RUN_DECISIONS, showWaiting, type RunReader } from "./waiting.ts";

export interface Replayable<T> {
  readonly answer: T;
  /** The key was known: nothing was done now. */
  readonly isReplayed: boolean;
}

/** What an answer is for: a run and the task of it, if there is one, as they were read before the transaction. */
interface Target {
  readonly run: RunRow;
  readonly task: TaskState | undefined;
  readonly reader: RunReader;
  /** Whose version and view the caller has. */
  readonly of: "run" | "task";
}

type Asked = { readonly by: TaskCaller; readonly answer: Answer };

/**
 * Answers what a run waits for: a task of it, or `continue` or `cancel` for any other reason. Without `taskId` the only open task is meant.
 * Checks in order: `not_found`; a known key gives its first answer, else `idempotency_mismatch`; `state_version_required`, `stale_version`
 * (412 of `If-Match`, 409 of the body); `already_decided`, `wrong_phase`, `decision_not_allowed`, `unprocessable`; `separation_of_duties`,
 * `person_required`, `access_denied`, `step_up_required`; `decision_unavailable`, `audit_unavailable`, `store_unavailable`. Refusals with
 * 409 and 412 have the member `waiting` of this moment. Decision, signal, audit entry and events are one transaction.
 */
export const resumeRun = async (
  parts: TaskContext,
  { run: id, taskId, ...asked }: Asked & { readonly run: string; readonly taskId?: string | undefined },
): Promise<Replayable<RunView>> => {
  const { tenant } = asked.by.caller;
  const run = await readRun(parts.database, { id, tenant });
  if (run === undefined) return refuseAbsent(parts, asked.by);
  const waiting = await readWaiting(parts.database, run);
  const named = taskId === undefined ? undefined : await readTask(parts.database, { id: taskId, tenant });
  if (taskId !== undefined && named?.task.run_id !== id) return refuseAbsent(parts, asked.by);
  const isOfRun = RUN_DECISIONS.some((one) => one === asked.answer.decision);
  const [only, ...more] = waiting.tasks;
  const task = named ?? (isOfRun && only?.task.allowed_decisions.includes(asked.answer.decision) !== true ? undefined : only);
  const tasks = named === undefined ? waiting.tasks : [named, ...waiting.tasks.filter((one) => one.task.id !== taskId)];
  const reader = await readRunReader(parts, { run, tasks }, asked.by);
  if (!reader.canViewRun && (task === undefined || reader.rights.get(task.task.id)?.canView !== true)) throw new Problem("not_found");
  if (named === undefined && task !== undefined && more.length > 0)
    throw new Problem("unprocessable", { errors: [{ path: "/task_id", message: "must name one of the open tasks" }] });
  return answerTo<RunView>(parts, { run, task, reader, of: "run" }, asked);
};

/** As `resumeRun`, for one task, by the version of the task; answers the task. */
export const completeTask = async (
  parts: TaskContext,
  { task: id, ...asked }: Asked & { readonly task: string },
): Promise<Replayable<TaskView>> => {
  const { tenant } = asked.by.caller;
  const task = await readTask(parts.database, { id, tenant });
  const run = task === undefined ? undefined : await readRun(parts.database, { id: task.task.run_id, tenant });
  if (task === undefined || run === undefined) return refuseAbsent(parts, asked.by);
  const waiting = await readWaiting(parts.database, run);
  const tasks = [task, ...waiting.tasks.filter((one) => one.task.id !== id)];
  const reader = await readRunReader(parts, { run, tasks }, asked.by);
  if (!reader.canViewRun && reader.rights.get(id)?.canView !== true) throw new Problem("not_found");
  return answerTo<TaskView>(parts, { run, task, reader, of: "task" }, asked);
};

/** Checks 2 to 5, first on what was read, then in the transaction on what is locked. */
const answerTo = async <View>(parts: TaskContext, target: Target, { by, answer }: Asked): Promise<Replayable<View>> => {
  const { run, task, reader } = target;
  const { decision, data = null, comment = null, stateVersion = null } = answer;
  const bodyHash = keyedDigest(parts.digestKey, [target.of, task?.task.id ?? null, decision, data, comment, stateVersion]);
  const keyed: KeyedRequest = { scope: run.id, key: answer.idempotencyKey, bodyHash, by };
  const known = await findAnswer(parts.database, keyed);
  if (known !== undefined) return { answer: known.answer as View, isReplayed: true };
  try {
    requireCurrent(target, answer);
    const stored = task === undefined ? data : await requireData(parts, { task: task.task, caller: by.caller }, answer);
    const decisionId = await requireRight(parts, target, by);
    const done = await parts.change<Replayable<View>>(async (sql) => {
      const locked = await lockRun(sql, run);
      const now = task === undefined ? undefined : await readTask(sql, task.task);
      if (locked === undefined || (task !== undefined && now === undefined)) throw new Problem("not_found");
      const first = await findAnswer(sql, keyed);
      if (first !== undefined) return { result: { answer: first.answer as View, isReplayed: true } };
      requireCurrent({ ...target, run: locked, task: now }, answer);
      if (now !== undefined) requireSeparate(now, reader.standing);
      const acting: RunCaller = { ...by, decisionId };
      const made =
        now === undefined
          ? await actOn(sql, locked, { by: acting, decision })
          : await decideTask({ ...parts, sql }, { run: locked, state: now }, { by: acting, answer: { ...answer, data: stored } });
      const view = await showAfter(parts, sql, target);
      storeAnswer(sql, keyed, view);
      return { result: { answer: view as View, isReplayed: false }, ...made };
    });
    if (task !== undefined && !done.isReplayed) parts.metrics.count("task_decisions_total", { decision: labelOf(decision) });
    return done;
  } catch (error) {
    throw await withWaiting(parts, target, error);
  }
};

/** Workflows name decisions of their own. */
const labelOf = (decision: string): string => (["approve", "reject", "submit"].includes(decision) ? decision : "other");

/** Checks 3 and 4. */
const requireCurrent = ({ run, task, of, reader }: Target, answer: Answer): void => {
  requireVersion(answer, of === "task" && task !== undefined ? task.task.state_version : run.state_version);
  if (task === undefined) {
    requireWaiting(run);
    return requireAllowed(answer.decision, RUN_DECISIONS);
  }
  requireOpen(task, reader.standing.person);
  requireAllowed(answer.decision, task.task.allowed_decisions);
};

/** Check 5; answers the id of the decision that permits it, where one was asked for. */
const requireRight = async (parts: TaskContext, { run, task, reader }: Target, by: TaskCaller): Promise<string | undefined> => {
  const { standing } = reader;
  if (task === undefined) {
    if (needsInitiator(run.reason) ? standing.person !== run.subject : !reader.isOwn && !reader.canOperate)
      throw new Problem("access_denied");
    if (run.reason === "step_up" && newSignIn(run, by) === undefined)
      throw new Problem("step_up_required", { headers: { "www-authenticate": 'Bearer error="insufficient_user_authentication"' } });
    return undefined;
  }
  if (await isSeparated(parts, task, { standing, by })) throw new Problem("separation_of_duties");
  requireSeparate(task, standing);
  const decided = await parts.pdpClient.decide(by.caller, taskQuestion(task, standing, "complete"), by.correlationId);
  const refused = parts.pdpClient.refusal(by.caller, decided);
  if (refused !== undefined) throw refused;
  return decided.decisionId;
};

/** Of the initiator, newer than the one that is stored with the run. */
const newSignIn = (run: RunRow, { caller }: Pick<TaskCaller, "caller">) => {
  const { sub, acr, authTime } = caller;
  if (sub !== run.subject || acr === undefined || authTime === undefined) return undefined;
  return run.auth_time === null || authTime * 1000 > Date.parse(run.auth_time) ? { acr, authTime } : undefined;
};

/** `continue` wakes the run, with the newer sign-in of its initiator; `cancel` undoes it. */
const actOn = async (sql: TransactionSql, run: RunRow, { by, decision }: { readonly by: RunCaller; readonly decision: string }) => {
  const entries: EntryDraft[] = [];
  const events: EventDraft[] = [];
  if (decision === "cancel") {
    const inside: Change = async (work) => {
      const made = await work(sql);
      entries.push(...(made.entries ?? []));
      events.push(...(made.events ?? []));
      return made.result;
    };
    await actOnRun(inside, { run: run.id, verb: "cancel", by });
    return { entries, events };
  }
  wakeRun(sql, run.id, newSignIn(run, by));
  return { entries: [runEntry(run, "continue", by)], events };
};

/** What the caller is answered: after the decision, in its transaction. */
const showAfter = async (parts: TaskContext, sql: TransactionSql, { run, task, reader, of }: Target): Promise<unknown> => {
  const now = of === "run" ? undefined : await readTask(sql, task?.task ?? run);
  if (now !== undefined) return showTask(now, reader);
  const after = (await readRun(sql, run)) ?? run;
  return showRun(after, showWaiting(await readWaiting(sql, after), reader, parts), reader);
};

/** Adds to a refusal what the run waits for now. */
const withWaiting = async (parts: TaskContext, { run, reader }: Target, error: unknown): Promise<unknown> => {
  if (!(error instanceof Problem) || (error.status !== 409 && error.status !== 412)) return error;
  const now = await readRun(parts.database, run);
  if (now === undefined) return error;
  const waiting = showWaiting(await readWaiting(parts.database, now), reader, parts);
  return new Problem(error.code, { ...error.options, members: { ...error.options.members, waiting } });
};
