import { statement, type Sql } from "#store/database.ts";

export type TaskStatus = "PENDING" | "COMPLETED" | "REJECTED" | "EXPIRED" | "CANCELLED";
export type TaskKind = "approval" | "form" | "choice" | "unknown_outcome";

/** A row of `crud.task`. Times are RFC 3339. */
export interface TaskRow {
  readonly id: string;
  readonly tenant: string;
  readonly run_id: string;
  readonly path: string;
  readonly step: string;
  readonly workflow: string;
  readonly kind: TaskKind;
  /** `EXPIRED` from the moment of its expiry, also before an engine closes it. */
  readonly status: TaskStatus;
  readonly title: string;
  readonly description: string | null;
  readonly owner: string;
  readonly created_by: string;
  readonly created_by_agent: string | null;
  readonly created_at: string;
  readonly due_at: string | null;
  readonly expires_at: string | null;
  readonly overdue: boolean;
  readonly required: number;
  readonly received: number;
  readonly allowed_decisions: readonly string[];
  readonly is_separated: boolean;
  readonly separated_steps: readonly string[];
  readonly form: string | null;
  readonly evidence_digest: string;
  readonly decision: string | null;
  readonly completed_by: string | null;
  readonly completed_at: string | null;
  readonly state_version: number;
}

export interface ApproverRow {
  readonly task_id: string;
  readonly identity: string;
  readonly source: "assigned" | "delegated" | "excluded";
  /** Who passed the task on to it. */
  readonly by_person: string | null;
}

export interface DecisionRow {
  readonly task_id: string;
  readonly person: string;
  readonly agent: string | null;
  readonly decision: string;
  readonly at: string;
}

/** Who decided a step that bars them from a task. */
interface BarredRow {
  readonly task_id: string;
  readonly person: string;
  readonly agent: string | null;
}

/** A task with what decides who may act on it. */
export interface TaskState {
  readonly task: TaskRow;
  readonly approvers: readonly ApproverRow[];
  readonly decisions: readonly DecisionRow[];
  /** Persons and agents that the separation of duties names, besides agents that only the graph knows. */
  readonly barred: ReadonlySet<string>;
}

/** An open task past its expiry is expired, whatever the engine wrote so far. */
export const STATUS = "case when t.status = 'PENDING' and t.expires_at <= crud.wf_now() then 'EXPIRED' else t.status end";

export const TASK_COLUMNS = `t.id, t.tenant, t.run_id, t.path, t.step, t.workflow, t.kind, ${STATUS} as status, t.title, t.description, t.owner,
  t.created_by, t.created_by_agent, t.created_at, t.due_at, t.expires_at,
  coalesce(t.due_at < crud.wf_now(), false) and ${STATUS} = 'PENDING' as overdue, t.required, t.received, t.allowed_decisions, t.is_separated,
  t.separated_steps, t.form, t.evidence_digest, t.decision, t.completed_by, t.completed_at, t.state_version`;

const BY_IDS = statement<TaskRow>(
  "crud.task_by_ids",
  `select ${TASK_COLUMNS} from crud.task t where t.id = any($1::text[]) and t.tenant = $2`,
);
const OPEN_OF_RUN = statement<TaskRow>(
  "crud.task_open_of_run",
  `select ${TASK_COLUMNS} from crud.task t where t.run_id = $1 and t.tenant = $2 and t.status = 'PENDING' order by t.id`,
);
const APPROVERS = statement<ApproverRow>(
  "crud.task_approvers",
  "select task_id, identity, source, by_person from crud.task_approver where task_id = any($1::text[]) order by identity",
);
const DECISIONS = statement<DecisionRow>(
  "crud.task_decisions",
  "select task_id, person, agent, decision, at from crud.task_decision where task_id = any($1::text[]) order by at, person",
);
const BARRED = statement<BarredRow>(
  "crud.task_barred",
  `select t.id as task_id, d.person, d.agent from crud.task t join crud.task o on o.run_id = t.run_id and o.step = any(t.separated_steps)
   join crud.task_decision d on d.task_id = o.id where t.id = any($1::text[]) and o.id <> t.id`,
);

/** To whom somebody passed the task on is barred with them. */
const withDelegates = (ids: readonly (string | null)[], approvers: readonly ApproverRow[]): ReadonlySet<string> => {
  const barred = new Set(ids.filter((id) => id !== null));
  // Grows while it is walked.
  for (const id of barred) for (const { identity, by_person: by } of approvers) if (by === id) barred.add(identity);
  return barred;
};

/** Adds to tasks what decides who may act on them: three statements, whatever their number. */
export const withState = async (sql: Sql, tasks: readonly TaskRow[]): Promise<readonly TaskState[]> => {
  if (tasks.length === 0) return [];
  const ids = [tasks.map(({ id }) => id)];
  const approvers = Map.groupBy(await sql.run(APPROVERS, ids), (row) => row.task_id);
  const decisions = Map.groupBy(await sql.run(DECISIONS, ids), (row) => row.task_id);
  const hasSteps = tasks.some(({ separated_steps: steps }) => steps.length > 0);
  const barred = Map.groupBy(hasSteps ? await sql.run(BARRED, ids) : [], (row) => row.task_id);
  return tasks.map((task) => {
    const own = task.is_separated ? [task.created_by, task.created_by_agent] : [];
    const others = (barred.get(task.id) ?? []).flatMap(({ person, agent }) => [person, agent]);
    const asked = approvers.get(task.id) ?? [];
    return { task, approvers: asked, decisions: decisions.get(task.id) ?? [], barred: withDelegates([...own, ...others], asked) };
  });
};

/** `undefined`: no such task in this tenant. */
export const readTask = async (
  sql: Sql,
  { id, tenant }: { readonly id: string; readonly tenant: string },
): Promise<TaskState | undefined> => (await withState(sql, await sql.run(BY_IDS, [[id], tenant])))[0];

/** Open and just expired tasks of a run. */
export const readOpenTasks = async (sql: Sql, run: { readonly id: string; readonly tenant: string }): Promise<readonly TaskState[]> =>
  withState(sql, await sql.run(OPEN_OF_RUN, [run.id, run.tenant]));
