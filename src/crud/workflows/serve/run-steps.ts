import type { Diagram, RunStep, runDiagram } from "#contract/workflow-runs.ts";
import type { ReplyOf } from "#contract/endpoint.ts";
import { usdFromMicro } from "#contract/ids.ts";
import { pageOf, type SealedCursors } from "#authn/sealing/sealed-cursors.ts";
import { statement, type Sql } from "#store/database.ts";
import { hideSealed } from "#crud/model/sealed-values.ts";
import type { StepRow } from "#crud/workflows/engine/run-rows.ts";
import { stepOf } from "#crud/workflows/tasks/task-port.ts";

const MS = (since: string): string => `(extract(epoch from ended_at - ${since}) * 1000)::float8`;

type ListedStep = StepRow & { readonly ms: number | null; readonly place: string };
/** Values only of the one step that $2 names. */
const STEPS = statement<ListedStep>(
  "crud.wf_list_steps",
  `select path, kind, status, reason, attempt, error, undo_of, task_id, wake_at, started_at, ended_at, ${MS("started_at")} as ms,
     started_at::text as place, case when $2::text is not null then input end as input, case when $2::text is not null then output end as output
   from crud.wf_step where run_id = $1 and ($2::text is null or path = $2)
     and ($3::timestamptz is null or (started_at, path) > ($3::timestamptz, $4))
   order by started_at, path limit $5::int`,
);
interface AttemptRow {
  readonly path: string;
  readonly attempt: number;
  readonly call_id: string;
  readonly decision_id: string | null;
  readonly outcome: string | null;
  readonly cost_micro: bigint | null;
  readonly opened_at: string;
  readonly ended_at: string | null;
  readonly ms: number | null;
}
const ATTEMPTS = statement<AttemptRow>(
  "crud.wf_list_attempts",
  `select path, attempt, call_id, decision_id, outcome, cost_micro, opened_at, ended_at, ${MS("opened_at")} as ms from crud.wf_attempt
   where run_id = $1 and path = any($2::text[]) order by path, attempt`,
);
const STATES = statement<Pick<StepRow, "path" | "status" | "attempt" | "started_at"> & { readonly ms: number | null }>(
  "crud.wf_step_states",
  `select path, status, attempt, started_at, ${MS("started_at")} as ms from crud.wf_step where run_id = $1 order by started_at, path`,
);

const rounded = (ms: number | null): number | null => (ms === null ? null : Math.max(0, Math.round(ms)));

const showAttempt = ({ attempt, outcome, decision_id, call_id, cost_micro: cost, opened_at, ended_at, ms }: AttemptRow) => ({
  attempt,
  outcome,
  decision_id,
  audit_id: call_id,
  cost_usd: cost === null ? null : usdFromMicro(cost),
  started_at: opened_at,
  ended_at,
  ms: rounded(ms),
});

/** Beginning and path of the last step of a page. */
export type StepPosition = readonly [string, string];

export interface StepsPage {
  readonly run: string;
  readonly path?: string | undefined;
  readonly limit: number;
  readonly cursor?: string | undefined;
  /** Whose cursor it is. */
  readonly reader: string;
}

/** One page of the steps of a run, in the order of their beginning. Throws `invalid_cursor`. */
export const listSteps = async (
  sql: Sql,
  cursors: SealedCursors<StepPosition>,
  { run, path, limit, cursor, reader }: StepsPage,
): Promise<{ readonly items: RunStep[]; readonly next_cursor?: string }> => {
  const bound = ["steps", run, path ?? null, reader];
  const [after = null, behind = null] = cursor === undefined ? [] : cursors.open(cursor, bound);
  const { page, last } = pageOf(await sql.run(STEPS, [run, path ?? null, after, behind, limit + 1]), limit);
  const attempts = Map.groupBy(await sql.run(ATTEMPTS, [run, page.map((step) => step.path)]), (row) => row.path);
  const items = page.map(({ place: _place, ms, input, output, ...step }) => ({
    ...step,
    error: hideSealed(step.error),
    name: stepOf(step.path).replace(/~undo$/, ""),
    ms: rounded(ms),
    attempts: (attempts.get(step.path) ?? []).map(showAttempt),
    ...(path === undefined ? {} : hideSealed({ input, output })),
  }));
  return { items, ...(last === undefined ? {} : { next_cursor: cursors.seal([last.place, last.path], bound) }) };
};

/** A diagram with the state of each step that a run has reached; in a loop that of the newest turn. */
export const withStates = async (sql: Sql, run: string, { nodes, edges }: Diagram): Promise<ReplyOf<typeof runDiagram>> => {
  const states = await sql.run(STATES, [run]);
  const byNode = new Map(states.map((row) => [row.path.replaceAll(/\[\d+\]/g, "[]"), row]));
  return {
    edges,
    nodes: nodes.map((node) => {
      const state = byNode.get(node.id);
      return state === undefined ? node : { ...node, status: state.status, attempt: state.attempt, duration_ms: rounded(state.ms) };
    }),
  };
};
