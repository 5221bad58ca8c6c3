import { Problem } from "#contract/problem.ts";
import { issuesOf } from "#contract/shape-issues.ts";
import { cancelRun, readRun, resumeRun as resumeEndpoint, taskAnswer } from "#contract/workflow-runs.ts";
import type { Simulation } from "#contract/workflows.ts";
import { isAgent } from "#authn/model/actor-kind.ts";
import { requireScope, type Caller } from "#authn/model/caller.ts";
import { builtInTools } from "#pdp-client/pairs.ts";
import { createBuiltInTool } from "#crud/mcp/built-in-tool.ts";
import type { Invocation, Tool } from "#crud/tools/tool.ts";
import { actOnRun } from "#crud/workflows/engine/verbs.ts";
import { readRun as readRunRow } from "#crud/workflows/tasks/run-reader.ts";
import { resumeRun } from "#crud/workflows/tasks/resume-run.ts";
import type { TaskCaller } from "#crud/workflows/tasks/task-context.ts";
import { readWaiting } from "#crud/workflows/tasks/waiting.ts";
import { requireVerb, seeRun, showSeenRun, type RunsContext } from "./run-rights.ts";

const runId = { type: "string", minLength: 1, maxLength: 64, description: "Id of the run, as its start answered it." };
const outputSchema = {
  type: "object",
  required: ["id", "workflow", "status", "state_version"],
  properties: {
    id: { type: "string" },
    workflow: { type: "string" },
    status: { type: "string" },
    state_version: { type: "integer" },
    waiting: { type: ["object", "null"], description: "What the run waits for, and how to answer it." },
  },
};
const input = (properties: Readonly<Record<string, unknown>>, ...required: readonly string[]) => ({
  type: "object",
  required: ["run_id", ...required],
  properties: { run_id: runId, ...properties },
  additionalProperties: false,
});

/** Simulates a start of a workflow by its name in addresses. */
type Simulate = (
  asked: {
    readonly name: string;
    readonly data: Record<string, unknown>;
    readonly assume: Record<string, never>;
    readonly signal: AbortSignal;
  },
  by: Pick<TaskCaller, "correlationId"> & { readonly caller: Caller },
) => Promise<Simulation>;

/**
 * The tools that follow a run: what it is, its answer, its end. They are the endpoints of the same names: scopes, rights and checks are
 * theirs. An agent finds only runs that it started for the same person itself.
 */
export const createRunTools = (
  context: () => RunsContext,
  simulate: Simulate,
): Record<"runStatus" | "resumeRun" | "cancelRun" | "simulateRun", Tool> => {
  /** Throws `insufficient_scope`; `not_found` for a run that is no agent's own. */
  const enter = async ({ caller, correlationId, arguments: given }: Invocation, { scope = [] }: { readonly scope?: readonly string[] }) => {
    requireScope(caller, scope);
    const parts = context();
    const by: TaskCaller = { caller, correlationId };
    const id = String(given["run_id"]);
    if (isAgent(caller)) {
      const run = await readRunRow(parts.database, { id, tenant: caller.tenant });
      if (run === undefined || run.subject !== caller.sub || (run.agent ?? run.subject) !== (caller.agent ?? caller.sub))
        throw new Problem("not_found");
    }
    return { parts, by, id };
  };

  return {
    runStatus: createBuiltInTool(
      {
        name: builtInTools.runStatus,
        title: "Status of a run",
        description: "Reads a run of a workflow: where it stands, what it waits for, its result.",
        inputSchema: input({}),
        outputSchema,
      },
      async (call) => {
        const { parts, by, id } = await enter(call, readRun);
        return { value: await showSeenRun(parts, await seeRun(parts, id, by), by) };
      },
    ),
    resumeRun: createBuiltInTool(
      {
        name: builtInTools.resumeRun,
        title: "Answer what a run waits for",
        description: "Decides a task of a run, or lets a run go on or end that waits; `waiting` of its status shows what may be sent.",
        inputSchema: input(
          {
            task_id: { type: "string", minLength: 1, maxLength: 64, description: "The task; needed where several are open." },
            decision: { type: "string", minLength: 1, maxLength: 64, description: "One of the allowed decisions." },
            data: { description: "What the form of the task asks for." },
            comment: { type: "string", minLength: 1, maxLength: 1000 },
            state_version: { type: "integer", minimum: 0, description: "Of the run, as it was read." },
            idempotency_key: {
              type: "string",
              pattern: "^[A-Za-z0-9._:-]{1,128}$",
              description: "The same key and arguments give the first answer again.",
            },
          },
          "decision",
          "state_version",
          "idempotency_key",
        ),
        outputSchema,
      },
      async (call) => {
        const { parts, by, id } = await enter(call, resumeEndpoint);
        const { run_id: _id, task_id: taskId, ...body } = call.arguments;
        const read = taskAnswer.safeParse(body);
        if (!read.success) throw new Problem("invalid_arguments", { errors: issuesOf(read.error) });
        const { decision, data, comment, state_version: stateVersion, idempotency_key: key } = read.data;
        const { answer } = await resumeRun(parts, {
          run: id,
          taskId: typeof taskId === "string" ? taskId : undefined,
          by,
          answer: { decision, data, comment, stateVersion, idempotencyKey: key },
        });
        return { value: answer };
      },
      { isReadOnly: false },
    ),
    cancelRun: createBuiltInTool(
      {
        name: builtInTools.cancelRun,
        title: "Cancel a run",
        description: "Ends a run of a workflow, and undoes what it did unless `undo` is false.",
        inputSchema: input({ undo: { type: "boolean", default: true, description: "Whether done steps are undone." } }),
        outputSchema,
      },
      async (call) => {
        const { parts, by, id } = await enter(call, cancelRun);
        const seen = await seeRun(parts, id, by);
        const decisionId = await requireVerb(parts, seen, { verb: "cancel", by });
        const isUndone = call.arguments["undo"] !== false;
        const after = await actOnRun(parts.change, { run: id, verb: "cancel", by: { ...by, decisionId }, isUndone });
        return { value: await showSeenRun(parts, { ...seen, waiting: await readWaiting(parts.database, after) }, by) };
      },
      { isReadOnly: false, isDestructive: true, isRepeatable: false },
    ),
    simulateRun: createBuiltInTool(
      {
        name: builtInTools.simulateRun,
        title: "Simulate a workflow",
        description: "What a start of a workflow would do: its steps, real decisions and cost. Nothing is reserved, written or sent.",
        inputSchema: {
          type: "object",
          required: ["name"],
          properties: {
            name: {
              type: "string",
              pattern: "^(workflow\\.)?[a-z]([a-z0-9_-]{0,38}[a-z0-9])?$",
              description: "Of the workflow, or of its tool.",
            },
            arguments: { type: "object", description: "As the tool of the workflow takes them." },
          },
          additionalProperties: false,
        },
        outputSchema: {
          type: "object",
          required: ["path", "not_taken", "outcome", "cost", "errors"],
          properties: { outcome: { type: "string", enum: ["completed", "waiting", "faulted", "undetermined"] } },
        },
      },
      async ({ caller, correlationId, signal, arguments: { name, arguments: data = {} } }) => ({
        value: await simulate(
          {
            name: String(name)
              .replace(/^workflow\./, "")
              .replaceAll("_", "-"),
            data: data as Record<string, unknown>,
            assume: {},
            signal,
          },
          { caller, correlationId },
        ),
      }),
    ),
  };
};
