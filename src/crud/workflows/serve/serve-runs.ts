import {
  cancelRun,
  listRuns as listEndpoint,
  readRun,
  resumeRun as resumeEndpoint,
  retryRun,
  runDiagram,
  runSteps,
  suspendRun,
  takeOverRun,
  unsuspendRun,
  workflowDiagram,
} from "#contract/workflow-runs.ts";
import type { Caller } from "#authn/model/caller.ts";
import { createSealedCursors, type SealedCursorsParts } from "#authn/sealing/sealed-cursors.ts";
import type { LiveBus } from "#events/streams/live-bus.ts";
import { answer, type Router } from "#http/serve.ts";
import type { WorkflowDocument } from "#crud/workflows/model/workflow-document.ts";
import { actOnRun, type Verb, type VerbCall } from "#crud/workflows/engine/verbs.ts";
import { versionTag } from "#crud/workflows/tasks/check-answer.ts";
import { resumeRun } from "#crud/workflows/tasks/resume-run.ts";
import type { TaskCaller } from "#crud/workflows/tasks/task-context.ts";
import { readWaiting } from "#crud/workflows/tasks/waiting.ts";
import { answerOf, askedOf, byOf, versionOf, type Sent } from "./asked.ts";
import { diagramOf } from "./diagram.ts";
import { listRuns } from "./list-runs.ts";
import { requirePair, requireVerb, seeRun, showSeenRun, type RunsContext, type SeenRun } from "./run-rights.ts";
import { listSteps, withStates, type StepPosition } from "./run-steps.ts";

export interface RunEndpoints extends RunsContext {
  /** As it serves in this tenant now. Throws `not_found`, `not_startable`. */
  readonly currentDocument: (name: string, tenant: string) => WorkflowDocument;
  readonly bus: Pick<LiveBus, "head">;
  readonly sealing: Pick<SealedCursorsParts, "secrets" | "now">;
}

/** Runs of workflows over HTTP. Registered before `/workflows/{name}`: `runs` names no workflow. */
export const serveRuns = (router: Router<Caller>, parts: RunEndpoints): void => {
  const runCursors = createSealedCursors<string>({ ...parts.sealing, purpose: "crud.run-cursor" });
  const stepCursors = createSealedCursors<StepPosition>({ ...parts.sealing, purpose: "crud.step-cursor" });
  /** Read before the rows, so that no change between is missed. */
  const streamSeq = async ({ caller }: Sent): Promise<number> => Number(await parts.bus.head(caller.tenant, "workflow"));

  const show = async (seen: SeenRun, by: TaskCaller) =>
    answer(await showSeenRun(parts, seen, by), { headers: { etag: versionTag(seen.waiting.run.state_version) } });

  const act = async (
    call: Sent & { readonly params: { readonly id: string } },
    verb: Verb,
    more: Pick<VerbCall, "isUndone" | "path"> = {},
  ) => {
    const by = byOf(call);
    const seen = await seeRun(parts, call.params.id, by);
    const { run } = seen.waiting;
    const decisionId = await requireVerb(parts, seen, { verb, by });
    const stateVersion = versionOf(call, run.state_version);
    const after = await actOnRun(parts.change, { run: run.id, verb, by: { ...by, decisionId }, stateVersion, ...more });
    return show({ ...seen, waiting: await readWaiting(parts.database, after) }, by);
  };

  router.serve(listEndpoint, async (call) => {
    const seq = await streamSeq(call);
    return { ...(await listRuns({ ...parts, cursors: runCursors }, call.query, byOf(call))), stream_seq: seq };
  });
  router.serve(readRun, async (call) => show(await seeRun(parts, call.params.id, byOf(call)), byOf(call)));
  router.serve(runSteps, async (call) => {
    const seq = await streamSeq(call);
    const { waiting } = await seeRun(parts, call.params.id, byOf(call));
    const page = { ...call.query, run: waiting.run.id, reader: call.caller.sub };
    return { ...(await listSteps(parts.database, stepCursors, page)), stream_seq: seq };
  });
  router.serve(runDiagram, async (call) => {
    const { run } = (await seeRun(parts, call.params.id, byOf(call))).waiting;
    return withStates(parts.database, run.id, diagramOf(await parts.findDocument(run)));
  });
  router.serve(workflowDiagram, async (call) => {
    await requirePair(parts, byOf(call), { type: "workflows", action: "view_all" });
    return diagramOf(parts.currentDocument(call.params.name, call.caller.tenant));
  });

  router.serve(cancelRun, (call) => act(call, "cancel", { isUndone: call.body?.undo ?? true }));
  router.serve(suspendRun, (call) => act(call, "suspend"));
  router.serve(unsuspendRun, (call) => act(call, "unsuspend"));
  router.serve(retryRun, (call) => act(call, "retry", { path: call.body?.path }));
  router.serve(takeOverRun, (call) => act(call, "takeover"));
  router.serve(resumeEndpoint, async (call) => {
    const { task_id: taskId, ...body } = call.body;
    return answerOf(await resumeRun(parts, { run: call.params.id, taskId, ...askedOf({ ...call, body }) }));
  });
};
