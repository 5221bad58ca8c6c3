import { Problem } from "#contract/problem.ts";
import { statement, type Sql } from "#store/database.ts";
import { RUN_COLUMNS } from "#crud/workflows/engine/ledger.ts";
import type { RunRow } from "#crud/workflows/engine/run-rows.ts";
import type { TaskCaller, TaskContext } from "./task-context.ts";
import type { TaskState } from "./task-rows.ts";
import { readStanding } from "./task-standing.ts";
import { readRights } from "./show-task.ts";
import type { RunReader } from "./waiting.ts";

const RUN = statement<RunRow>("crud.task_run", `select ${RUN_COLUMNS} from crud.wf_run where id = $1 and tenant = $2`);
/** Decisions, delegations and the engine's own writes of a run take turns by this lock. */
const LOCK = statement<RunRow>("crud.task_lock_run", `${RUN.text} for no key update`);

const runQuestions = ["view_runs", "operate"].map((action) => ({ type: "workflows", action, context: { showing: true } }));

type RunKey = { readonly id: string; readonly tenant: string };
export const readRun = async (sql: Sql, { id, tenant }: RunKey): Promise<RunRow | undefined> => (await sql.run(RUN, [id, tenant]))[0];
export const lockRun = async (sql: Sql, { id, tenant }: RunKey): Promise<RunRow | undefined> => (await sql.run(LOCK, [id, tenant]))[0];

/**
 * Throws `not_found` for a run or task that is not there, and before it what is thrown for one that is there and not the caller's: nobody
 * learns by a fault of another part what there is.
 */
export const refuseAbsent = async (parts: Pick<TaskContext, "pdpClient" | "graph">, by: TaskCaller): Promise<never> => {
  await readStanding(parts, by);
  await parts.pdpClient.decideMany(by.caller, runQuestions, by.correlationId);
  throw new Problem("not_found");
};

/** What the caller may do with a run and its tasks. Throws `decision_unavailable`, `membership_unavailable`. */
export const readRunReader = async (
  parts: Pick<TaskContext, "pdpClient" | "graph">,
  { run, tasks }: { readonly run: RunRow; readonly tasks: readonly TaskState[] },
  by: TaskCaller,
): Promise<RunReader> => {
  const { caller, correlationId } = by;
  const standing = await readStanding(parts, by);
  const agent = run.agent ?? (run.subject.startsWith("agent:") ? run.subject : undefined);
  const isOwn =
    caller.sub === run.subject ||
    (agent !== undefined && (await parts.graph.linkOf(agent, caller.sub, { tenant: run.tenant, correlationId })) === "control");
  const [views, operates] = isOwn ? [] : await parts.pdpClient.decideMany(caller, runQuestions, correlationId);
  const { rights } = await readRights(parts, tasks, { standing, by });
  return { standing, rights, isOwn, canViewRun: isOwn || views?.decision === true, canOperate: isOwn || operates?.decision === true };
};
