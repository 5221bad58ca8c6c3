import { createUuids } from "#events/model/uuid.ts";
import type { LiveBus } from "#events/streams/live-bus.ts";
import type { PdpClient } from "#pdp-client/pdp-client.ts";
import type { Tracing } from "#telemetry/tracing.ts";
import type { CrudConfig } from "#crud/config.ts";
import type { ValueSeals } from "#crud/model/sealed-values.ts";
import type { ToolServiceParts } from "#crud/mcp/tool-service.ts";
import type { Change } from "#events/changes/change.ts";
import { statement } from "#store/database.ts";
import { expressionsOf } from "#crud/workflows/definition/expressions.ts";
import type { PlacedWorkflows } from "#crud/workflows/definition/placed-workflows.ts";
import type { StartWorkflow } from "#crud/workflows/definition/workflow-tool.ts";
import { createEngine } from "#crud/workflows/engine/engine.ts";
import { createPipelineCalls } from "#crud/workflows/engine/pipeline-calls.ts";
import { startRunRetention } from "#crud/workflows/engine/run-retention.ts";
import { createTaskGraph } from "#crud/workflows/tasks/task-graph.ts";
import type { Notify, TaskContext } from "#crud/workflows/tasks/task-context.ts";
import { createTaskPort } from "#crud/workflows/tasks/task-port.ts";
import { fillForm } from "#crud/forms/definition/fill-form.ts";
import { followRights } from "./follow-rights.ts";
import { createRunDocuments, type DocumentContext, type VersionedDocument } from "./run-documents.ts";
import { startByCall } from "./start-workflow.ts";

export interface WorkflowsContext extends ToolServiceParts {
  readonly config: CrudConfig;
  readonly store: DocumentContext["store"];
  readonly placed: PlacedWorkflows;
  readonly change: Change;
  readonly bus: LiveBus;
  readonly pdpClient: PdpClient;
  readonly notify: Notify;
  /** Of values that are not shown. */
  readonly seals: ValueSeals;
  /** JSON Schema of a form's data. */
  readonly formSchema: TaskContext["formSchema"];
  readonly tracing?: Tracing | undefined;
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const IS_STEP = statement<{ found: boolean }>(
  "crud.wf_is_step",
  "select exists (select from crud.wf_attempt where call_id = $1::uuid and outcome is null) as found",
);

/** Runs of workflows in this process: their start, what people do with them, and the engine that takes them further. */
export const openWorkflows = async (parts: WorkflowsContext) => {
  const { config, database, change, log, metrics } = parts;
  const newId = createUuids(parts.now);
  const documents = createRunDocuments(parts);
  const context: TaskContext = {
    database,
    change,
    pdpClient: parts.pdpClient,
    graph: createTaskGraph(parts),
    notify: parts.notify,
    formSchema: parts.formSchema,
    fillForm,
    seals: parts.seals,
    digestKey: parts.digestKey,
    publicOrigin: parts.publicOrigin,
    newId,
    metrics,
  };
  await using stack = new AsyncDisposableStack();
  if (config.workflowEngine === "on") {
    stack.use(
      await createEngine({
        database,
        change,
        calls: createPipelineCalls({ ...parts, snapshot: () => parts.catalogue.snapshot }),
        tasks: createTaskPort(context),
        expressionsOf,
        findDocument: documents.find,
        newId,
        deniedGraceMs: config.workflowDeniedGraceMs,
        workers: config.workflowWorkers ?? (database.kind === "pglite" ? 4 : 8),
        leaseSeconds: config.workflowLeaseSeconds,
        pollMs: config.workflowPollMs,
        log,
        metrics,
      }),
    );
    stack.use(followRights(parts));
    stack.use(
      startRunRetention({
        database,
        log,
        metrics,
        payloadDays: config.workflowPayloadDays,
        retentionDays: config.workflowRetentionDays,
        idempotencyDays: config.workflowIdempotencyDays,
      }),
    );
  }
  const running = stack.move();
  const starter = { change, context };
  const start: StartWorkflow = async (document, call) =>
    startByCall(await documents.ofVersion(document.name, document.version, call.caller.tenant), call, starter);
  return {
    context,
    documents,
    start,
    /** Starts that version, whatever serves. */
    startOf:
      (versioned: VersionedDocument): StartWorkflow =>
      (_document, call) =>
        startByCall(versioned, call, starter),
    /** Whether a call is a step that was begun and has no outcome yet: what becomes of it is its engine's to say. */
    isOpenStep: async (callId: string): Promise<boolean> => UUID.test(callId) && (await database.run(IS_STEP, [callId]))[0]?.found === true,
    [Symbol.asyncDispose]: () => running[Symbol.asyncDispose](),
  };
};
export type Workflows = Awaited<ReturnType<typeof openWorkflows>>;
