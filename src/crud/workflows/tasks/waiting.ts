import { statement, type Sql } from "#store/database.ts";
import { shownStatus } from "#crud/workflows/engine/run-events.ts";
import type { RunRow, WaitReason } from "#crud/workflows/engine/run-rows.ts";
import { pageOfRun, pageOfTask, stepOf } from "./task-port.ts";
import { readOpenTasks, type TaskState } from "./task-rows.ts";
import type { WhyNot } from "./task-standing.ts";
import { showTask, type TaskReader } from "./show-task.ts";

/** A step that waits for something. */
interface WaitingStep {
  readonly path: string;
  readonly reason: WaitReason | null;
  readonly task_id: string | null;
  readonly wake_at: string | null;
  readonly started_at: string;
}

const WAITING = statement<WaitingStep>(
  "crud.task_waiting_steps",
  `select path, reason, task_id, wake_at, started_at from crud.wf_step
   where run_id = $1 and status in ('waiting', 'unknown') and reason is not null order by path limit 100`,
);

/** What a run waits for. */
export interface WaitingRun {
  readonly run: RunRow;
  readonly steps: readonly WaitingStep[];
  readonly tasks: readonly TaskState[];
}

export const readWaiting = async (sql: Sql, run: RunRow): Promise<WaitingRun> => {
  const steps = run.phase === "waiting" || run.phase === "undoing" ? await sql.run(WAITING, [run.id]) : [];
  return { run, steps, tasks: steps.some(({ task_id: id }) => id !== null) ? await readOpenTasks(sql, run) : [] };
};

/** Who reads a run. */
export interface RunReader extends TaskReader {
  /** The initiator, or who controls the initiator's agent. */
  readonly isOwn: boolean;
  /** Sees the run itself, not only tasks of it. */
  readonly canViewRun: boolean;
  readonly canOperate: boolean;
}

/** Decisions on what a run waits for besides tasks. */
export const RUN_DECISIONS = ["continue", "cancel"] as const;
/** The sign-in that is stored with the run must be its initiator's. */
const ofInitiator: ReadonlySet<string> = new Set(["step_up", "reauth"]);

export const needsInitiator = (reason: string | null): boolean => ofInitiator.has(reason ?? "");

const shownTypes: Readonly<Partial<Record<WaitReason, string>>> = {
  step_up: "step_up",
  budget: "budget",
  reauth: "reauth",
  timer: "none",
  unknown_outcome: "unknown_outcome",
};

interface RequiredAction {
  /** Null: it is no task. */
  readonly task_id: string | null;
  readonly task_type: string;
  readonly task_name: string;
  readonly title: string;
  readonly allowed_decisions: string[];
  readonly required: number;
  readonly received: number;
  readonly you_may: boolean;
  readonly why_not: WhyNot | null;
  readonly form: string | null;
  readonly url: string;
}

/** The member `waiting` of a run (section 4 of the contract); null: it waits for nothing. */
export const showWaiting = (
  { run, steps, tasks }: WaitingRun,
  reader: RunReader,
  { publicOrigin, newId }: { readonly publicOrigin: string; readonly newId: () => string },
) => {
  if (steps.length === 0) return null;
  const byId = new Map(tasks.map((state) => [state.task.id, state]));
  const actions = steps.flatMap(({ path, reason, task_id: id }): readonly RequiredAction[] => {
    const state = byId.get(id ?? "");
    if (state !== undefined) {
      if (!reader.canViewRun && reader.rights.get(state.task.id)?.canView !== true) return [];
      const { kind, title, allowed_decisions, required, received, you_may, why_not, form, step } = showTask(state, reader);
      const url = `${publicOrigin}${pageOfTask(state.task.id)}`;
      return [
        {
          task_id: state.task.id,
          task_type: kind,
          task_name: step,
          title,
          allowed_decisions,
          required,
          received,
          you_may,
          why_not,
          form,
          url,
        },
      ];
    }
    if (reason === "human" || reason === "unknown_outcome" || reason === null || !reader.canViewRun) return [];
    const may = needsInitiator(reason) ? reader.standing.person === run.subject : reader.isOwn || reader.canOperate;
    const allowed_decisions = reason === "timer" ? ["cancel"] : [...RUN_DECISIONS];
    return [
      {
        task_id: null,
        task_type: shownTypes[reason] ?? "retry",
        task_name: stepOf(path),
        title: `${stepOf(path)} waits: ${reason}`,
        allowed_decisions,
        required: 1,
        received: 0,
        you_may: may,
        why_not: may ? null : "access_denied",
        form: null,
        url: `${publicOrigin}${pageOfRun(run.id)}`,
      },
    ];
  });
  const [first] = actions.toSorted((one, other) => Number(other.you_may) - Number(one.you_may));
  const expiries = [...tasks.map(({ task }) => task.expires_at), run.deadline].filter((at) => at !== null);
  return {
    contract_version: "1.0" as const,
    workflow_status: shownStatus(run.phase),
    run_id: run.id,
    workflow: run.name,
    version: run.version,
    state_version: run.state_version,
    reason: run.reason,
    expires_at: expiries.reduce((one, other) => (Date.parse(other) < Date.parse(one) ? other : one)),
    required_actions: actions,
    request_format: {
      method: "POST" as const,
      url: `/workflows/runs/${run.id}/resume`,
      headers: { "If-Match": `"${run.state_version}"` },
      body: {
        ...(first?.task_id === undefined || first.task_id === null ? {} : { task_id: first.task_id }),
        decision: `<${first?.allowed_decisions.join("|") ?? ""}>`,
        data: {},
        state_version: run.state_version,
        idempotency_key: newId(),
      },
    },
  };
};
export type WaitingView = ReturnType<typeof showWaiting>;
