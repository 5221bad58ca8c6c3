import { statement } from "#store/database.ts";
import type { TaskCaller, TaskContext } from "./task-context.ts";
import { STATUS, type TaskKind } from "./task-rows.ts";
import { readStanding } from "./task-standing.ts";

interface SummaryRow {
  readonly kind: TaskKind;
  readonly pending: number;
  readonly mine: number;
  readonly awaiting: number;
  readonly overdue: number;
  readonly due_today: number;
  readonly oldest: string | null;
}

/** $2 identities of the caller, $3 the caller. What is put to the caller and not yet answered is theirs. */
const PENDING = statement<SummaryRow>(
  "crud.task_summary",
  `select kind, count(*)::int4 as pending, count(*) filter (where is_mine)::int4 as mine,
     count(*) filter (where is_mine and kind = 'approval' and not (is_separated and created_by = $3))::int4 as awaiting,
     count(*) filter (where due_at < crud.wf_now())::int4 as overdue,
     count(*) filter (where (due_at at time zone 'UTC')::date = (crud.wf_now() at time zone 'UTC')::date)::int4 as due_today,
     min(created_at) as oldest
   from (
     select t.kind, t.is_separated, t.created_by, t.due_at, t.created_at,
       exists (select from crud.task_approver a where a.task_id = t.id and a.source <> 'excluded' and a.identity = any($2::text[]))
       and not exists (select from crud.task_approver x where x.task_id = t.id and x.source = 'excluded' and x.identity = $3)
       and not exists (select from crud.task_decision d where d.task_id = t.id and d.person = $3) as is_mine
     from crud.task t where t.tenant = $1 and t.status = 'PENDING' and ${STATUS} = 'PENDING') as open
   group by kind`,
);
const DONE = statement<{ done: number }>(
  "crud.task_completed",
  `select count(*)::int4 as done from crud.task
   where tenant = $1 and status in ('COMPLETED', 'REJECTED') and completed_at > crud.wf_now() - interval '7 days'`,
);

/** Counts of the tenant's open tasks. Days are those of UTC. Cost: linear in the open tasks. Throws `membership_unavailable`. */
export const summarizeTasks = async (parts: Pick<TaskContext, "database" | "graph">, by: TaskCaller) => {
  const { tenant, sub } = by.caller;
  const { identities } = await readStanding(parts, by);
  const rows = await parts.database.run(PENDING, [tenant, [...identities], sub]);
  const [completed] = await parts.database.run(DONE, [tenant]);
  const total = (count: (row: SummaryRow) => number): number => rows.reduce((sum, row) => sum + count(row), 0);
  const oldest = rows.flatMap((row) => (row.oldest === null ? [] : [row.oldest])).toSorted();
  return {
    pending: total((row) => row.pending),
    mine: total((row) => row.mine),
    awaiting_my_approval: total((row) => row.awaiting),
    overdue: total((row) => row.overdue),
    due_today: total((row) => row.due_today),
    completed_7d: completed?.done ?? 0,
    by_kind: Object.fromEntries(rows.map(({ kind, pending }) => [kind, pending])),
    oldest_pending_at: oldest[0] ?? null,
  };
};
