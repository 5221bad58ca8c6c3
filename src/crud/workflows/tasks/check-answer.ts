import { Problem, type Issue } from "#contract/problem.ts";
import { isObject } from "#contract/is-object.ts";
import { namesTag } from "#http/entity-tags.ts";
import { prepareSchema } from "#parsing/foreign-schema.ts";
import type { RunRow } from "#crud/workflows/engine/run-rows.ts";
import { MAX_VALUE_BYTES } from "#crud/workflows/engine/step-place.ts";
import { allowedVerbs } from "#crud/workflows/engine/verbs.ts";
import type { Principal } from "#pdp-client/pdp-client.ts";
import type { TaskContext } from "./task-context.ts";
import type { TaskState } from "./task-rows.ts";
import { isBarred, isExcluded, type Standing } from "./task-standing.ts";

/** What a caller answers to a task, or to what a run waits for. */
export interface Answer {
  readonly decision: string;
  readonly data?: unknown;
  readonly comment?: string | undefined;
  readonly idempotencyKey: string;
  /** Of the body. */
  readonly stateVersion?: number | undefined;
  readonly ifMatch?: string | undefined;
}

/** The result of the step holds who decided beside the data. */
const MAX_DATA_BYTES = MAX_VALUE_BYTES - 16_384;

/** `ETag` of a run or task. */
export const versionTag = (version: number): string => `"${version}"`;

/** Throws `state_version_required` (422), and `stale_version`: 412 of `If-Match`, 409 of the body. */
export const requireVersion = ({ ifMatch, stateVersion }: Pick<Answer, "ifMatch" | "stateVersion">, current: number): void => {
  if (ifMatch === undefined && stateVersion === undefined) throw new Problem("state_version_required");
  if (ifMatch !== undefined && !namesTag(ifMatch, versionTag(current))) throw new Problem("stale_version");
  if (stateVersion !== undefined && stateVersion !== current) throw new Problem("stale_version", { status: 409 });
};

export const requireAllowed = (decision: string, allowed: readonly string[]): void => {
  if (allowed.includes(decision)) return;
  const errors = [{ path: "/decision", message: `must be one of ${allowed.join(", ")}` }];
  throw new Problem("decision_not_allowed", { errors });
};

/** Throws `already_decided`: by others, by this person, by its expiry. */
export const requireOpen = ({ task, decisions }: TaskState, person: string): void => {
  if (task.status !== "PENDING") throw new Problem("already_decided", { detail: `The task is ${task.status}.` });
  if (decisions.some((one) => one.person === person)) throw new Problem("already_decided", { detail: "You have decided this task." });
};

/** What the rows say of who may act; agents of barred persons are asked of the graph before. */
export const requireSeparate = (state: TaskState, standing: Standing): void => {
  if (isBarred(state, standing)) throw new Problem("separation_of_duties");
  if (standing.isAgent && state.task.kind !== "form") throw new Problem("person_required");
  if (isExcluded(state, standing)) throw new Problem("access_denied", { detail: "You have passed this task on." });
};

/**
 * The data as it is stored: filled in as its form says, and sealed for the run where that marks `x-redact`. Throws `unprocessable` with every
 * issue of it, `value_too_large`. A rejection needs no data.
 */
export const requireData = async (
  parts: Pick<TaskContext, "fillForm" | "formSchema" | "seals">,
  { task, caller }: Pick<TaskState, "task"> & { readonly caller: Principal },
  answer: Answer,
): Promise<unknown> => {
  const { data, decision } = answer;
  if (data !== undefined && Buffer.byteLength(JSON.stringify(data)) > MAX_DATA_BYTES)
    throw new Problem("value_too_large", { detail: `The data of a decision has at most ${MAX_DATA_BYTES} bytes.` });
  const schema = task.form === null ? undefined : await parts.formSchema(task.tenant, task.form);
  if (decision === "reject" || task.kind === "unknown_outcome" || schema === undefined) {
    if (decision !== "reject" && task.kind !== "unknown_outcome") refuse(objectIssues(data));
    return parts.seals.seal([schema], data, task.run_id);
  }
  const given = data ?? {};
  const { sub, agent = null, tenant } = caller;
  const filled = isObject(given) ? parts.fillForm(schema, given, { caller: { sub, agent, tenant }, now: new Date() }) : given;
  refuse(prepareSchema(schema)(filled));
  return parts.seals.seal([schema], data === undefined && Object.keys(filled).length === 0 ? data : filled, task.run_id);
};
const refuse = (errors: readonly Issue[]): void => {
  if (errors.length > 0) throw new Problem("unprocessable", { errors: errors.map((one) => ({ ...one, path: `/data${one.path}` })) });
};
const objectIssues = (data: unknown): readonly Issue[] =>
  data === undefined || data === null || isObject(data) ? [] : [{ path: "", message: "must be an object" }];

/** What a run waits for besides tasks. Throws `wrong_phase`. */
export const requireWaiting = (run: RunRow): void => {
  if (run.phase !== "waiting" && !(run.phase === "undoing" && run.wake_at !== null))
    throw new Problem("wrong_phase", { members: { allowed_verbs: allowedVerbs(run) } });
};
