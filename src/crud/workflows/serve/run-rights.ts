import type { RunVerb } from "#contract/workflow-runs.ts";
import type { EvaluationQuery } from "#pdp-client/pdp-client.ts";
import type { RunRow } from "#crud/workflows/engine/run-rows.ts";
import type { FindDocument } from "#crud/workflows/engine/step-calls.ts";
import { allowedVerbs } from "#crud/workflows/engine/verbs.ts";
import { Problem } from "#contract/problem.ts";
import { readRun, readRunReader, refuseAbsent } from "#crud/workflows/tasks/run-reader.ts";
import { showRun } from "#crud/workflows/tasks/show-run.ts";
import type { TaskCaller, TaskContext } from "#crud/workflows/tasks/task-context.ts";
import { readWaiting, showWaiting, type RunReader, type WaitingRun } from "#crud/workflows/tasks/waiting.ts";

export interface RunsContext extends TaskContext {
  readonly findDocument: FindDocument;
}

/** Throws `access_denied`, `step_up_required`, `decision_unavailable`; answers the id of the decision. */
export const requirePair = async (
  { pdpClient }: Pick<TaskContext, "pdpClient">,
  { caller, correlationId }: TaskCaller,
  query: EvaluationQuery,
): Promise<string> => {
  const decided = await pdpClient.decide(caller, query, correlationId);
  const refused = pdpClient.refusal(caller, decided);
  if (refused !== undefined) throw refused;
  return decided.decisionId;
};

/** A run as one caller sees it. */
export interface SeenRun {
  readonly waiting: WaitingRun;
  readonly reader: RunReader;
}

/** Throws `not_found` also for a run that the caller may not see, and what the graph and the decision point throw. */
export const seeRun = async (parts: TaskContext, id: string, by: TaskCaller): Promise<SeenRun> => {
  const run = await readRun(parts.database, { id, tenant: by.caller.tenant });
  if (run === undefined) return refuseAbsent(parts, by);
  const waiting = await readWaiting(parts.database, run);
  const reader = await readRunReader(parts, { run, tasks: waiting.tasks }, by);
  if (!reader.canViewRun) throw new Problem("not_found");
  return { waiting, reader };
};

const isOwner = async (parts: RunsContext, run: RunRow, { standing }: RunReader): Promise<boolean> =>
  standing.identities.has((await parts.findDocument(run)).owner);

/** It has ended, and what it began with is still stored. */
export const canBeRerun = ({ ended_at: ended, input }: RunRow): boolean => ended !== null && input !== null;

const OPERATE = { type: "workflows", action: "operate" } as const;

/**
 * Who started a run, or controls its agent, may everything but `retry`; its workflow's owner may `retry`; else `workflows/operate`
 * decides. Answers the decision's id, where one was asked for.
 */
export const requireVerb = async (
  parts: RunsContext,
  { waiting: { run }, reader }: SeenRun,
  { verb, by }: { readonly verb: RunVerb; readonly by: TaskCaller },
): Promise<string | undefined> => {
  const isTheirs = verb === "retry" ? await isOwner(parts, run, reader) : reader.isOwn;
  return isTheirs ? undefined : requirePair(parts, by, OPERATE);
};

/** Verbs that the caller may use now. */
const verbsOf = async (parts: RunsContext, { waiting: { run }, reader }: SeenRun, by: TaskCaller): Promise<RunVerb[]> => {
  const canRetry = async (): Promise<boolean> => {
    if (await isOwner(parts, run, reader)) return true;
    if (!reader.isOwn) return reader.canOperate;
    const [decided] = await parts.pdpClient.decideMany(by.caller, [{ ...OPERATE, context: { showing: true } }], by.correlationId);
    return decided?.decision === true;
  };
  const allowed = allowedVerbs(run);
  const retry: RunVerb[] = allowed.includes("retry") && (await canRetry()) ? ["retry"] : [];
  if (!reader.canOperate) return retry;
  return [...allowed.filter((verb) => verb !== "retry"), ...retry, ...(canBeRerun(run) ? (["rerun"] as const) : [])];
};

/** A run with its values, what it waits for and what the caller may do with it. */
export const showSeenRun = async (parts: RunsContext, seen: SeenRun, by: TaskCaller) => {
  const { waiting, reader } = seen;
  return { ...showRun(waiting.run, showWaiting(waiting, reader, parts), reader), may: await verbsOf(parts, seen, by) };
};
