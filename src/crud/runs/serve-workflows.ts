import { Problem } from "#contract/problem.ts";
import { listWorkflows, rerunRun, simulateWorkflow, startWorkflow, validateWorkflow } from "#contract/workflows.ts";
import type { Caller } from "#authn/model/caller.ts";
import { pageOf, type SealedCursors } from "#authn/sealing/sealed-cursors.ts";
import { answer, type Router } from "#http/serve.ts";
import type { LiveBus } from "#events/streams/live-bus.ts";
import type { PdpClient } from "#pdp-client/pdp-client.ts";
import { statement, type Database } from "#store/database.ts";
import type { HeldObject } from "#crud/configs/config-kind.ts";
import type { ConfigPublisher } from "#crud/configs/publish-config.ts";
import { readText } from "#crud/configs/serve-configs.ts";
import { sealedPlaces } from "#crud/model/sealed-values.ts";
import { toolAsk } from "#crud/mcp/call/steps/authorize.ts";
import type { ToolService } from "#crud/mcp/tool-service.ts";
import type { PlacedWorkflow, PlacedWorkflows } from "#crud/workflows/definition/placed-workflows.ts";
import { createWorkflowTool, wireNameOf } from "#crud/workflows/definition/workflow-tool.ts";
import type { WorkflowDocument } from "#crud/workflows/model/workflow-document.ts";
import { allowedVerbs, noteRerun } from "#crud/workflows/engine/verbs.ts";
import { byOf, versionOf } from "#crud/workflows/serve/asked.ts";
import { canBeRerun, requireVerb, seeRun } from "#crud/workflows/serve/run-rights.ts";
import { readRun } from "#crud/workflows/tasks/run-reader.ts";
import type { Workflows } from "./open-workflows.ts";
import type { SimulateWorkflow } from "./simulate-workflow.ts";
import { asInput, awaitRun, viewRun } from "./start-workflow.ts";

export interface WorkflowEndpoints {
  readonly database: Database;
  readonly bus: Pick<LiveBus, "head">;
  readonly pdpClient: PdpClient;
  readonly publisher: ConfigPublisher;
  readonly placed: PlacedWorkflows;
  readonly workflows: Workflows;
  readonly toolService: Pick<ToolService, "enter" | "start">;
  readonly simulate: SimulateWorkflow;
  /** The last name of the page before. */
  readonly cursors: SealedCursors<string>;
}

const COUNTS = statement<{ name: string; live: number; waiting: number }>(
  "crud.wf_counts",
  `select name, count(*)::int4 as live, count(*) filter (where phase = 'waiting')::int4 as waiting from crud.wf_run
   where tenant = $1 and ended_at is null and name = any($2::text[]) group by name`,
);

const CHECK = { kind: "workflow", reason: undefined, ifMatch: null, ifNoneMatch: null, isDryRun: true } as const;

interface Served {
  readonly object: HeldObject;
  readonly workflow: PlacedWorkflow;
}

const fits = (
  { workflow: { document } }: Served,
  { search, tags }: { readonly search: string; readonly tags: readonly string[] },
): boolean =>
  [wireNameOf(document.name), document.title, document.summary].some((text) => text.toLowerCase().includes(search)) &&
  tags.every((tag) => document.tags.includes(tag));

/** Lists, checks and starts workflows; how they are published stands with the other kinds of configuration. */
export const serveWorkflows = (router: Router<Caller>, parts: WorkflowEndpoints): void => {
  const { pdpClient, publisher, placed, cursors, database } = parts;
  const { store } = publisher;

  router.serve(listWorkflows, async ({ caller, query, correlationId }) => {
    await pdpClient.require(caller, { type: "workflows", action: "view_all" }, correlationId);
    const { tenant, sub } = caller;
    const { limit, status, search = "", tag: tags = [] } = query;
    const bound = ["workflows", sub, search, status ?? "", ...tags];
    const after = query.cursor === undefined ? "" : cursors.open(query.cursor, bound);
    const found = store
      .list("workflow", tenant)
      .flatMap((object): readonly Served[] => {
        const workflow = placed.find(object.name);
        return workflow === undefined || object.name <= after ? [] : [{ object, workflow }];
      })
      .filter((one) => fits(one, { search: search.toLowerCase(), tags }))
      .filter(({ object }) => status === undefined || (object.issues.length > 0 ? "degraded" : "serving") === status)
      .toSorted((one, other) => (one.object.name < other.object.name ? -1 : 1));
    const { page, last } = pageOf(found, limit);
    const asks = page.map(({ workflow }) => toolAsk(workflow.tool, "tools/list", { could: true, showing: true }));
    const edit = { type: "config", action: "write", id: "workflow:*", context: { showing: true } };
    const [mayEdit, ...mayStart] = await pdpClient.decideMany(caller, [edit, ...asks], correlationId);
    const names = page.map(({ workflow }) => wireNameOf(workflow.document.name));
    const counts = new Map((await database.run(COUNTS, [tenant, names])).map((row) => [row.name, row]));
    return {
      items: page.map(({ object, workflow: { document } }, at) => {
        const name = wireNameOf(document.name);
        const { live = 0, waiting = 0 } = counts.get(name) ?? {};
        return {
          name,
          namespace: document.tenant?.replace(/^tenant:/, "") ?? "all",
          version: document.version,
          title: document.title,
          summary: document.summary,
          tags: [...document.tags],
          owner: document.owner,
          mcp_enabled: document.mcp.isEnabled,
          status: object.issues.length > 0 ? ("degraded" as const) : ("serving" as const),
          runs: { live, waiting },
          may: { start: mayStart[at]?.decision === true, edit: mayEdit?.decision === true || mayEdit?.reason === "step_up_required" },
        };
      }),
      ...(last === undefined ? {} : { next_cursor: cursors.seal(last.object.name, bound) }),
      stream_seq: Number(await parts.bus.head(tenant, "workflow")),
    };
  });

  router.serve(validateWorkflow, async (call) => {
    const by = await publisher.requireObject(call, "edit", "workflow", "*");
    const text = await readText(call.request, "workflow");
    const read = await store.kinds.workflow.read(text, "workflow.yaml", { tenant: call.caller.tenant });
    const named = "issues" in read ? read.name : (read.value as WorkflowDocument).name;
    // A version of one that is there, or a new one.
    const name = store.list("workflow", call.caller.tenant).find((one) => one.name === named)?.name;
    const { issues = [], warnings } = await publisher.publish(call, { ...CHECK, name, text, by });
    return { valid: issues.length === 0, errors: [...issues], warnings: [...warnings] };
  });

  const start = createWorkflowStart(parts);
  router.serve(startWorkflow, ({ params, body, request, ...by }) => {
    const { version, data, idempotency_key: idempotencyKey, wait_seconds: wait } = body;
    return start({ name: params.name, version, data, idempotencyKey, wait, signal: request.signal }, by);
  });

  router.serve(simulateWorkflow, ({ params, body, request, ...by }) => parts.simulate({ ...body, ...params, signal: request.signal }, by));

  router.serve(rerunRun, async (call) => {
    const by = byOf(call);
    const { context, documents } = parts.workflows;
    const seen = await seeRun(context, call.params.id, by);
    const { run } = seen.waiting;
    const decisionId = await requireVerb({ ...context, findDocument: documents.find }, seen, { verb: "rerun", by });
    versionOf(call, run.state_version);
    if (!canBeRerun(run)) throw new Problem("wrong_phase", { members: { allowed_verbs: allowedVerbs(run) } });
    // Sent again before it is noted, it starts no second one.
    const idempotencyKey = `rerun:${run.id}:${run.state_version}`;
    const name = run.name.replaceAll("_", "-");
    // What was sealed is sealed for the new run.
    const { value: data } = await context.seals.open(run.input, run.id);
    const redactBy = [sealedPlaces(run.input)];
    const asked = { name, version: call.body?.version, data, idempotencyKey, redactBy, signal: call.request.signal };
    const { begun } = await beginRun(parts, asked, call);
    await noteRerun(context.change, run, { by: { ...by, decisionId }, as: begun.id });
    const headers = { location: `/workflows/runs/${begun.id}`, etag: `"${begun.state_version}"` };
    return answer(await viewRun(context, begun, by), { headers });
  });
};

/** A start as somebody asks for it. */
export interface WorkflowStart {
  readonly name: string;
  readonly version?: string | undefined;
  readonly data: unknown;
  readonly idempotencyKey: string | undefined;
  /** Seconds. */
  readonly wait: number;
  readonly signal: AbortSignal;
  /** Schemas of forms: what they mark as `x-redact` is sealed too. */
  readonly redactBy?: readonly unknown[];
}

/** Starts a run, whether or not its workflow is a tool. */
const beginRun = async (
  { database, workflows, toolService }: Pick<WorkflowEndpoints, "database" | "workflows" | "toolService">,
  { name, version, data, idempotencyKey, signal, redactBy = [] }: Omit<WorkflowStart, "wait">,
  { caller, correlationId }: { readonly caller: Caller; readonly correlationId: string },
) => {
  const visit = toolService.enter(caller, "", "execute", correlationId);
  // Whether it is there shows after the decision; what is not there, or is another tenant's, is refused alike.
  const there =
    version === undefined
      ? workflows.documents.serving(name, caller.tenant)
      : await workflows.documents.ofVersion(name, version, caller.tenant);
  const tool = createWorkflowTool(there.document, workflows.startOf({ ...there, redactBy }));
  const reply = await toolService.start(visit, tool, { arguments: data, signal, idempotencyKey }).catch(asInput);
  const id = (reply.value as { readonly run_id: string }).run_id;
  const begun = await readRun(database, { id, tenant: caller.tenant });
  if (begun === undefined) throw new Problem("busy");
  return { begun, document: there.document };
};

/** Starts a workflow for who came by an endpoint. */
export const createWorkflowStart =
  (parts: Pick<WorkflowEndpoints, "database" | "workflows" | "toolService">) =>
  async (asked: WorkflowStart, by: { readonly caller: Caller; readonly correlationId: string }) => {
    const began = performance.now();
    const { begun, document } = await beginRun(parts, asked, by);
    const { id } = begun;
    const run = await awaitRun(parts.database, begun, { maxMs: asked.wait * 1000, signal: asked.signal });
    const { correlationId } = by;
    const result = await viewRun(parts.workflows.context, run, by);
    return answer(
      {
        status: "accepted" as const,
        message: `The workflow ${document.title} was started.`,
        correlation_id: correlationId,
        execution_time_ms: Math.round(performance.now() - began),
        run_id: id,
        result,
      },
      { status: run.ended_at === null ? 202 : 200, headers: { location: `/workflows/runs/${id}`, etag: `"${run.state_version}"` } },
    );
  };
