import { isAgent } from "#authn/model/actor-kind.ts";
import { mayBePerson } from "#contract/ids.ts";
import { Problem } from "#contract/problem.ts";
import { statement } from "#store/database.ts";
import { STEP } from "#crud/workflows/engine/ledger.ts";
import { runEvents, withAsked } from "#crud/workflows/engine/run-events.ts";
import { runEntry } from "#crud/workflows/engine/start-run.ts";
import { requireOpen, requireVersion } from "./check-answer.ts";
import { lockRun, readRun, readRunReader, refuseAbsent } from "./run-reader.ts";
import { showTask, taskQuestion, type TaskView } from "./show-task.ts";
import type { TaskCaller, TaskContext } from "./task-context.ts";
import { pageOfTask } from "./task-port.ts";
import { readTask, type TaskState } from "./task-rows.ts";
import { hasTooFew, isBarred, isExcluded, isSeparated } from "./task-standing.ts";

export interface TaskDelegation {
  readonly task: string;
  /** Node id of a person. */
  readonly to: string;
  readonly note?: string | undefined;
  readonly ifMatch?: string | undefined;
  readonly by: TaskCaller;
}

const EXCLUDE = statement(
  "crud.task_exclude",
  `insert into crud.task_approver (task_id, identity, source) values ($1, $2, 'excluded')
   on conflict (task_id, identity) do update set source = 'excluded'`,
);
const ADD = statement(
  "crud.task_add_approver",
  "insert into crud.task_approver (task_id, identity, source, by_person, note) values ($1, $2, 'delegated', $3, $4)",
);
const RAISE = statement("crud.task_raise", "update crud.task set state_version = state_version + 1 where id = $1");
const RAISE_RUN = statement("crud.task_delegated_run", "update crud.wf_run set state_version = state_version + 1 where id = $1");

/** What stands against it in the rows of the task. */
const requireDelegable = (state: TaskState, { to, ifMatch, by }: TaskDelegation): void => {
  const { sub: person } = by.caller;
  if (ifMatch !== undefined) requireVersion({ ifMatch }, state.task.state_version);
  requireOpen(state, person);
  if (isExcluded(state, { person }) || state.approvers.some(({ identity }) => identity === to)) throw new Problem("delegated_already");
  if (isBarred(state, { person, agents: [] }) || state.barred.has(to)) throw new Problem("separation_of_duties");
};

/**
 * Passes a task on: `to` is asked from now on, the caller no more. Throws `not_found`, `person_required`, `stale_version`, `already_decided`,
 * `delegated_already`, `separation_of_duties`, `unprocessable` for somebody who is no person of the tenant, `access_denied`,
 * `step_up_required`, and what the graph and the decision point throw.
 */
export const delegateTask = async (parts: TaskContext, asked: TaskDelegation): Promise<TaskView> => {
  const { task: id, to, note = null, by } = asked;
  const { caller, correlationId } = by;
  const { tenant, sub } = caller;
  const state = await readTask(parts.database, { id, tenant });
  const run = state === undefined ? undefined : await readRun(parts.database, { id: state.task.run_id, tenant });
  if (state === undefined || run === undefined) return refuseAbsent(parts, by);
  const reader = await readRunReader(parts, { run, tasks: [state] }, by);
  if (!reader.canViewRun && reader.rights.get(id)?.canView !== true) throw new Problem("not_found");
  if (isAgent(caller)) throw new Problem("person_required");
  requireDelegable(state, asked);
  const isPerson = mayBePerson(to) && to !== sub && (await parts.graph.groupsOf(to, { tenant, correlationId })) !== undefined;
  if (!isPerson) throw new Problem("unprocessable", { errors: [{ path: "/to", message: "must be another person of the tenant" }] });
  if (await isSeparated(parts, state, { standing: reader.standing, by })) throw new Problem("separation_of_duties");
  const decided = await parts.pdpClient.decide(caller, taskQuestion(state, reader.standing, "delegate"), correlationId);
  const refused = parts.pdpClient.refusal(caller, decided);
  if (refused !== undefined) throw refused;
  return parts.change<TaskView>(async (sql) => {
    const locked = await lockRun(sql, run);
    const now = await readTask(sql, { id, tenant });
    if (locked === undefined || now === undefined) throw new Problem("not_found");
    requireDelegable(now, asked);
    sql.post(EXCLUDE, [id, sub]);
    sql.post(ADD, [id, to, sub, note]);
    sql.post(RAISE, [id]);
    sql.post(RAISE_RUN, [run.id]);
    const notice = { id, tenant, title: now.task.title, from: sub, href: pageOfTask(id) };
    await parts.notify(sql, { ...notice, kind: "task", recipients: [to] });
    const after = await readTask(sql, { id, tenant });
    if (after === undefined) throw new Problem("not_found");
    if (hasTooFew(after) && !hasTooFew(now))
      await parts.notify(sql, { ...notice, kind: "too_few_approvers", recipients: [now.task.owner] });
    const [step] = await sql.run(STEP, [run.id, now.task.path]);
    // Who passed it on sees that it is gone.
    const reported = (await withAsked(sql, step === undefined ? [] : [step])).map((one) => ({
      ...one,
      asked: [...(one.asked ?? []), sub],
    }));
    const entry = runEntry(locked, "delegate", { ...by, decisionId: decided.decisionId });
    return {
      result: showTask(after, reader),
      entries: [{ ...entry, resource: { type: "task", id }, data: { ...entry.data, task_id: id, to } }],
      events: runEvents(locked, { ...locked, state_version: locked.state_version + 1 }, reported),
    };
  });
};
