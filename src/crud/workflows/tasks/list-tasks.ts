import { pageOf, type SealedCursors } from "#authn/sealing/sealed-cursors.ts";
import { Problem } from "#contract/problem.ts";
import { statement } from "#store/database.ts";
import { hideSealed } from "#crud/model/sealed-values.ts";
import { readRun, readRunReader, refuseAbsent } from "./run-reader.ts";
import { readRights, showTask, type TaskView } from "./show-task.ts";
import type { TaskCaller, TaskContext } from "./task-context.ts";
import { readTask, STATUS, TASK_COLUMNS, withState, type TaskKind, type TaskRow, type TaskStatus } from "./task-rows.ts";
import { readStanding } from "./task-standing.ts";

/** Which tasks a list has; what is absent filters nothing. */
export interface TaskFilter {
  readonly status?: readonly TaskStatus[] | undefined;
  readonly type?: readonly TaskKind[] | undefined;
  /** Name of a workflow. */
  readonly workflow?: string | undefined;
  readonly run?: string | undefined;
  readonly createdBy?: string | undefined;
  /** Who decided it, alone or with others. */
  readonly completedBy?: string | undefined;
  /** Only what is put to the caller, in person or by a group or role. */
  readonly isMine?: boolean | undefined;
  readonly overdue?: boolean | undefined;
  /** Part of title or description, whatever its case. */
  readonly search?: string | undefined;
  readonly sort?: "created_at" | "-created_at" | "due_at" | undefined;
}

/** Value of the sort column and id of the last row. */
export type TaskPosition = readonly [string, string];

export interface TaskPage {
  readonly filter: TaskFilter;
  readonly limit: number;
  readonly cursor?: string | undefined;
  readonly by: TaskCaller;
}

/** Rows without a date to act by come last. */
const orders = {
  created_at: { key: "t.created_at", compare: ">", direction: "asc" },
  "-created_at": { key: "t.created_at", compare: "<", direction: "desc" },
  due_at: { key: "coalesce(t.due_at, '9999-12-31T00:00:00Z'::timestamptz)", compare: ">", direction: "asc" },
} as const;

/** $11: identities of the caller, of whom nobody who passed it on. */
const MINE = `exists (select from crud.task_approver a where a.task_id = t.id and a.source <> 'excluded' and a.identity = any($11::text[]))
   and not exists (select from crud.task_approver x where x.task_id = t.id and x.source = 'excluded' and x.identity = $12)`;

const lists = Object.fromEntries(
  Object.entries(orders).map(([sort, { key, compare, direction }]) => [
    sort,
    statement<TaskRow & { readonly place: string }>(
      `crud.task_list_${sort.replace("-", "latest_")}`,
      `select ${TASK_COLUMNS}, ${key} as place from crud.task t
       where t.tenant = $1 and ($2::text[] is null or ${STATUS} = any($2::text[])) and ($3::text[] is null or t.kind = any($3::text[]))
         and ($4::text is null or t.workflow = $4) and ($5::text is null or t.run_id = $5) and ($6::text is null or t.created_by = $6)
         and ($7::text is null or exists (select from crud.task_decision d where d.task_id = t.id and d.person = $7))
         and ($8::boolean is null or (coalesce(t.due_at < crud.wf_now(), false) and ${STATUS} = 'PENDING') = $8::boolean)
         and ($9::text is null or strpos(lower(t.title || ' ' || coalesce(t.description, '')), lower($9)) > 0)
         and (not $10::boolean or (${MINE}))
         and ($13::timestamptz is null or (${key}, t.id) ${compare} ($13::timestamptz, $14))
       order by ${key} ${direction}, t.id ${direction} limit $15::int`,
    ),
  ]),
);

/**
 * One page of the tasks that the decision point lets the caller view; those that it does not are left out, so a page may be shorter than
 * `limit` and still have a next one. Throws `invalid_cursor`, `decision_unavailable`, `membership_unavailable`.
 */
export const listTasks = async (
  parts: Pick<TaskContext, "database" | "pdpClient" | "graph"> & { readonly cursors: SealedCursors<TaskPosition> },
  { filter, limit, cursor, by }: TaskPage,
): Promise<{ readonly items: TaskView[]; readonly next_cursor?: string }> => {
  const { tenant, sub } = by.caller;
  const { sort = "-created_at" } = filter;
  const bound = [tenant, sub, by.caller.agent ?? null, filter];
  const [place = null, id = null] = cursor === undefined ? [] : parts.cursors.open(cursor, bound);
  const standing = await readStanding(parts, by);
  const list = lists[sort];
  const rows =
    list === undefined
      ? []
      : await parts.database.run(list, [
          tenant,
          filter.status ?? null,
          filter.type ?? null,
          filter.workflow ?? null,
          filter.run ?? null,
          filter.createdBy ?? null,
          filter.completedBy ?? null,
          filter.overdue ?? null,
          filter.search ?? null,
          filter.isMine === true,
          [...standing.identities],
          sub,
          place,
          id,
          limit + 1,
        ]);
  const { page, last } = pageOf(rows, limit);
  const states = await withState(
    parts.database,
    page.map(({ place: _place, ...task }) => task),
  );
  const reader = await readRights(parts, states, { standing, by });
  const items = states.filter(({ task }) => reader.rights.get(task.id)?.canView === true).map((state) => showTask(state, reader));
  return { items, ...(last === undefined ? {} : { next_cursor: parts.cursors.seal([last.place, last.id], bound) }) };
};

const DETAIL = statement<{ evidence: unknown; data: unknown }>(
  "crud.task_detail",
  "select evidence, prefill as data from crud.task where id = $1",
);

/** One task with its evidence, approvers and decisions. Throws `not_found` also for one that the caller may not view. */
export const readTaskDetail = async (
  parts: Pick<TaskContext, "database" | "pdpClient" | "graph">,
  { task: id, by }: { readonly task: string; readonly by: TaskCaller },
) => {
  const { tenant } = by.caller;
  const state = await readTask(parts.database, { id, tenant });
  const run = state === undefined ? undefined : await readRun(parts.database, { id: state.task.run_id, tenant });
  if (state === undefined || run === undefined) return refuseAbsent(parts, by);
  const reader = await readRunReader(parts, { run, tasks: [state] }, by);
  if (!reader.canViewRun && reader.rights.get(id)?.canView !== true) throw new Problem("not_found");
  const [detail] = await parts.database.run(DETAIL, [id]);
  return {
    ...showTask(state, reader),
    ...hideSealed({ evidence: detail?.evidence ?? null, data: detail?.data ?? null }),
    approvers: state.approvers.map(({ identity, source }) => ({ identity, source })),
    decisions: state.decisions.map(({ person, decision, at }) => ({ sub: person, decision, at })),
  };
};
