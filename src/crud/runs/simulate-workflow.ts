import { Problem } from "#contract/problem.ts";
import type { BodyOf } from "#contract/endpoint.ts";
import type { Simulation, simulateWorkflow } from "#contract/workflows.ts";
import type { Caller } from "#authn/model/caller.ts";
import { requireScope } from "#authn/model/caller.ts";
import type { ConfigPublisher } from "#crud/configs/publish-config.ts";
import { findTool, isFor } from "#crud/tools/catalogue.ts";
import type { ToolService, ToolServiceParts } from "#crud/mcp/tool-service.ts";
import { createWorkflowTool, wireNameOf } from "#crud/workflows/definition/workflow-tool.ts";
import { createPipelineCalls } from "#crud/workflows/engine/pipeline-calls.ts";
import { idOf } from "#crud/workflows/engine/run-ids.ts";
import type { RunRow } from "#crud/workflows/engine/run-rows.ts";
import { runEntry, type RunCaller } from "#crud/workflows/engine/start-run.ts";
import type { StepCall } from "#crud/workflows/engine/step-calls.ts";
import { errorOf } from "#crud/workflows/engine/step-errors.ts";
import type { WorkflowDocument } from "#crud/workflows/model/workflow-document.ts";
import type { Workflows } from "./open-workflows.ts";
import { simulateRun } from "./simulate-run.ts";
import { asInput } from "./start-workflow.ts";

export interface SimulationServices extends ToolServiceParts {
  readonly toolService: Pick<ToolService, "enter" | "simulate">;
  readonly publisher: Pick<ConfigPublisher, "requireObject" | "store">;
  readonly workflows: Pick<Workflows, "documents" | "context">;
}

type Asked = BodyOf<typeof simulateWorkflow> & { readonly name: string; readonly signal: AbortSignal };
interface By {
  readonly caller: Caller;
  readonly correlationId: string;
}
interface Permitted {
  readonly document: WorkflowDocument;
  readonly decisionId: string | undefined;
}

/** What is written nowhere is not recorded: the simulation has one entry. */
const noRecorder: ToolServiceParts["recorder"] = { open: () => Promise.reject(new Problem("audit_unavailable")), one: async () => {} };
const notStarted = (): Promise<never> => Promise.reject(new Problem("not_startable"));

const runOf = (
  { document }: Permitted,
  { data, as_agent: agent }: Asked,
  { caller, correlationId, now }: By & { readonly now: Date },
): Omit<RunRow, "id"> => {
  const at = now.toISOString();
  return {
    tenant: caller.tenant,
    name: wireNameOf(document.name),
    namespace: "",
    version: document.version,
    config_version: 0,
    subject: caller.sub,
    agent: agent ?? caller.agent ?? null,
    delegation_id: null,
    client_id: agent === undefined ? (caller.clientId ?? null) : null,
    scopes: [...caller.scopes],
    acr: caller.acr ?? null,
    auth_time: caller.authTime === undefined ? null : new Date(caller.authTime * 1000).toISOString(),
    correlation_id: correlationId,
    input: data,
    context: null,
    output: null,
    error: null,
    phase: "running",
    reason: null,
    undo_for: null,
    desired: null,
    state_version: 0,
    epoch: 0n,
    wake_at: null,
    wake_seq: 0n,
    done_seq: 0,
    cost_micro: 0n,
    cost_steps: 0,
    created_at: at,
    updated_at: at,
    ended_at: null,
    deadline: new Date(now.getTime() + document.timeoutMs).toISOString(),
  };
};

/** Simulates a start of a workflow; who may start it may simulate it. Throws as a start does, `invalid_definition` and `unprocessable`. */
export const createSimulateWorkflow = (parts: SimulationServices) => {
  const { toolService, publisher, workflows } = parts;
  const { documents, context } = workflows;
  const snapshot = () => parts.catalogue.snapshot;
  const calls = createPipelineCalls({
    ...parts,
    recorder: noRecorder,
    snapshot,
    seals: { open: async (value) => ({ value, texts: [] }) },
  });

  const simulate = async (permitted: Permitted, asked: Asked, by: By): Promise<Simulation> => {
    const { document, decisionId } = permitted;
    const run: RunRow = { ...runOf(permitted, asked, { ...by, now: parts.now() }), id: idOf("run", context.newId()) };
    const who: RunCaller = { ...by, decisionId };
    const entry = { ...runEntry(run, "simulate", who), resource: { type: "workflow", id: run.name } };
    const step = { run, path: "/", callId: context.newId(), tool: `workflow.${run.name}`, arguments: asked.data };
    const start: StepCall = { ...step, purpose: "step", agent: run.agent, signal: asked.signal, isSimulation: true };
    // A person was permitted to start it; the agent that acts for the person is asked for too.
    const refusal =
      asked.as_agent === undefined || asked.source !== undefined ? undefined : await calls.decide(start).then(() => undefined, problemOf);
    const found: Simulation =
      refusal === undefined
        ? await simulateRun(
            { document, run, assume: asked.assume },
            {
              calls,
              entry,
              newId: context.newId,
              signal: asked.signal,
              findTool: (name) => {
                const tool = findTool(snapshot(), name);
                return tool !== undefined && isFor(tool, run.tenant) ? tool : undefined;
              },
            },
          )
        : {
            path: [],
            not_taken: document.steps.map(({ name }) => ({ path: `/do/${name}`, because: "not_reached" as const })),
            outcome: "faulted",
            cost: { usd: 0, steps: 0 },
            errors: [
              { ...errorOf("authorization", `${refusal.code}: ${refusal.message}`, refusal.status), title: refusal.code, instance: "/" },
            ],
          };
    const { outcome, path } = found;
    const data = { op: "simulate", workflow: run.name, version: run.version, agent: run.agent ?? undefined, outcome, steps: path.length };
    await parts.recorder.one({ ...entry, data: { ...data, unsaved: asked.source !== undefined } });
    return found;
  };

  /** Throws `insufficient_scope`, `access_denied`, `invalid_definition`, `invalid_input`. */
  const ofSource = async (source: string, { name, data, signal }: Asked, by: By): Promise<Permitted> => {
    requireScope(by.caller, ["config.write"]);
    const { decisionId } = await publisher.requireObject(by, "edit", "workflow", name);
    const { tenant } = by.caller;
    const read = await publisher.store.kinds.workflow.read(source, "workflow.yaml", { tenant });
    if ("issues" in read) throw new Problem("invalid_definition", { errors: [...read.issues] });
    const document = read.value as WorkflowDocument;
    const issues = [
      ...(document.name === name ? [] : [{ path: "/document/name", message: `must be ${name}` }]),
      ...(document.tenant === undefined || document.tenant === tenant
        ? []
        : [{ path: "/document/namespace", message: "is another tenant" }]),
    ];
    if (issues.length > 0) throw new Problem("invalid_definition", { errors: issues });
    const errors = await createWorkflowTool(document, notStarted).checkArguments(data, { tenant, signal });
    if (errors.length > 0) asInput(new Problem("invalid_arguments", { errors: [...errors] }));
    return { document, decisionId };
  };

  return async (asked: Asked, by: By): Promise<Simulation> => {
    const { name, version, source, data, signal } = asked;
    if (source !== undefined) return simulate(await ofSource(source, asked, by), asked, by);
    const { tenant } = by.caller;
    const visit = toolService.enter(by.caller, "", "execute", by.correlationId);
    const there = version === undefined ? documents.serving(name, tenant) : await documents.ofVersion(name, version, tenant);
    const { document } = there;
    return toolService
      .simulate(visit, createWorkflowTool(document, notStarted), {
        arguments: data,
        signal,
        work: ({ permit: { decisionId } }) => simulate({ document, decisionId }, asked, by),
      })
      .catch(asInput);
  };
};
export type SimulateWorkflow = ReturnType<typeof createSimulateWorkflow>;

const problemOf = (error: unknown): Problem => {
  if (error instanceof Problem) return error;
  throw error;
};
