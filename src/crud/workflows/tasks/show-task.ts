import type { EvaluationQuery } from "#pdp-client/pdp-client.ts";
import type { TaskCaller, TaskContext } from "./task-context.ts";
import type { TaskState } from "./task-rows.ts";
import { isAsked, whyNot, type Standing } from "./task-standing.ts";

/** What a reader may do with tasks, by their ids. */
export interface TaskRights {
  readonly canView: boolean;
  /** A stronger sign-in may still be demanded at the act. */
  readonly canComplete: boolean;
}

/** A reader of tasks: who it is, and what the decision point permits. */
export interface TaskReader {
  readonly standing: Standing;
  readonly rights: ReadonlyMap<string, TaskRights>;
}

/** Questions that one request to the decision point holds at most. */
const MAX_QUESTIONS = 100;

export const taskQuestion = (state: TaskState, standing: Standing, action: "view" | "complete" | "delegate"): EvaluationQuery => ({
  type: "tasks",
  action,
  id: state.task.id,
  properties: { kind: state.task.kind, assigned: isAsked(state, standing) },
});

/** Asks the decision point what somebody may do with tasks; it is only shown. Throws `decision_unavailable`. */
export const readRights = async (
  { pdpClient }: Pick<TaskContext, "pdpClient">,
  states: readonly TaskState[],
  { standing, by }: { readonly standing: Standing; readonly by: TaskCaller },
): Promise<TaskReader> => {
  const context = { showing: true };
  const asks = states.flatMap((state) =>
    (["view", "complete"] as const).map((action) => ({ ...taskQuestion(state, standing, action), context })),
  );
  const decided: boolean[] = [];
  for (let at = 0; at < asks.length; at += MAX_QUESTIONS) {
    const answers = await pdpClient.decideMany(by.caller, asks.slice(at, at + MAX_QUESTIONS), by.correlationId);
    decided.push(...answers.map(({ decision, reason }) => decision || reason === "step_up_required"));
  }
  const rights = states.map(({ task }, at) => [
    task.id,
    { canView: decided[2 * at] === true, canComplete: decided[2 * at + 1] === true },
  ]) satisfies [string, TaskRights][];
  return { standing, rights: new Map(rights) };
};

/** A task as lists have it. */
export const showTask = (state: TaskState, { standing, rights }: TaskReader) => {
  const { task } = state;
  const reason = whyNot(state, standing, rights.get(task.id)?.canComplete ?? false);
  const {
    tenant: _tenant,
    path: _path,
    owner: _owner,
    is_separated: _is,
    separated_steps: _steps,
    evidence_digest: _digest,
    ...shown
  } = task;
  const origin: "workflow" | "unknown_outcome" = task.kind === "unknown_outcome" ? "unknown_outcome" : "workflow";
  const { allowed_decisions: allowed } = task;
  return { ...shown, allowed_decisions: [...allowed], origin, you_may: reason === null, why_not: reason };
};
export type TaskView = ReturnType<typeof showTask>;
