import type { ReplyOf, QueryOf } from "#contract/endpoint.ts";
import type { listRuns as endpoint } from "#contract/workflow-runs.ts";
import { pageOf, type SealedCursors } from "#authn/sealing/sealed-cursors.ts";
import { statement } from "#store/database.ts";
import { RUN_COLUMNS } from "#crud/workflows/engine/ledger.ts";
import { shownStatus } from "#crud/workflows/engine/run-events.ts";
import type { RunRow } from "#crud/workflows/engine/run-rows.ts";
import { showRunRow } from "#crud/workflows/tasks/show-run.ts";
import type { TaskCaller, TaskContext } from "#crud/workflows/tasks/task-context.ts";
import { runPhases } from "#contract/workflow-runs.ts";

type Query = QueryOf<typeof endpoint>;

/** Agents that acted in runs of a tenant, by the index alone. */
const AGENTS = statement<{ agent: string }>(
  "crud.wf_agents",
  `with recursive agents (agent) as (
     (select acting_agent from crud.wf_run where tenant = $1 and acting_agent is not null order by acting_agent limit 1)
     union all
     select (select acting_agent from crud.wf_run where tenant = $1 and acting_agent > agents.agent order by acting_agent limit 1)
     from agents where agents.agent is not null)
   select agent from agents where agent is not null limit 1000`,
);
const columns = RUN_COLUMNS.replace("input, context, output, error, ", "");
/** $2: all of the tenant's, else those of $3 and of the agents $4. */
const LIST = statement<Omit<RunRow, "input" | "context" | "output" | "error">>(
  "crud.wf_list",
  `select ${columns} from crud.wf_run
   where tenant = $1 and ($2::boolean or subject = $3 or acting_agent = any($4::text[]))
     and ($5::text is null or name = $5) and ($6::text[] is null or phase = any($6::text[])) and ($7::text[] is null or reason = any($7::text[]))
     and ($8::text is null or subject = $8) and ($9::text is null or acting_agent = $9) and ($10::text is null or delegation_id = $10)
     and ($11::text is null or correlation_id = $11) and ($12::timestamptz is null or created_at >= $12::timestamptz)
     and ($13::timestamptz is null or created_at < $13::timestamptz)
     and ($14::text is null or strpos(lower(id || ' ' || name), lower($14)) > 0) and (not $15::boolean or subject = $3)
     and ($16::text is null or id < $16)
   order by id desc limit $17::int`,
);

/** Phases that fit both filters; undefined: any. */
const phasesOf = ({ phase, status }: Pick<Query, "phase" | "status">): readonly string[] | undefined =>
  phase === undefined && status === undefined
    ? undefined
    : runPhases.filter((one) => (phase?.includes(one) ?? true) && (status?.some((shown) => shown === shownStatus(one)) ?? true));

/**
 * One page of the runs that the caller may see, newest first: all of the tenant with `workflows/view_runs`, else those that the caller
 * started and those of agents that the caller controls. Throws `invalid_cursor`, `decision_unavailable`, `membership_unavailable`.
 */
export const listRuns = async (
  parts: Pick<TaskContext, "database" | "pdpClient" | "graph"> & { readonly cursors: SealedCursors<string> },
  { limit, cursor, ...filter }: Query,
  { caller, correlationId }: TaskCaller,
): Promise<Omit<ReplyOf<typeof endpoint>, "stream_seq">> => {
  const { tenant, sub } = caller;
  const bound = ["runs", tenant, sub, filter];
  const before = cursor === undefined ? null : parts.cursors.open(cursor, bound);
  const isMine = filter.mine === "true";
  const question = { type: "workflows", action: "view_runs", context: { showing: true } };
  const [views] = isMine ? [] : await parts.pdpClient.decideMany(caller, [question], correlationId);
  const seesAll = views?.decision === true;
  const agents = isMine || seesAll ? [] : (await parts.database.run(AGENTS, [tenant])).map(({ agent }) => agent);
  const rows = await parts.database.run(LIST, [
    tenant,
    seesAll,
    sub,
    await parts.graph.controlledBy(sub, agents, { tenant, correlationId }),
    filter.workflow ?? null,
    phasesOf(filter) ?? null,
    filter.reason ?? null,
    filter.started_by ?? null,
    filter.agent ?? null,
    filter.delegation ?? null,
    filter.correlation_id ?? null,
    filter.created_after ?? null,
    filter.created_before ?? null,
    filter.search ?? null,
    isMine,
    before,
    limit + 1,
  ]);
  const { page, last } = pageOf(rows, limit);
  return {
    items: page.map(showRunRow),
    ...(last === undefined ? {} : { next_cursor: parts.cursors.seal(last.id, bound) }),
  };
};
