import {
  completeTask as completeEndpoint,
  delegateTask as delegateEndpoint,
  listTasks as listEndpoint,
  readTask,
  taskSummary,
} from "#contract/tasks.ts";
import type { Caller } from "#authn/model/caller.ts";
import { createSealedCursors, type SealedCursorsParts } from "#authn/sealing/sealed-cursors.ts";
import type { LiveBus } from "#events/streams/live-bus.ts";
import { tagsOf } from "#http/entity-tags.ts";
import { answer, type Router } from "#http/serve.ts";
import { versionTag } from "#crud/workflows/tasks/check-answer.ts";
import { delegateTask } from "#crud/workflows/tasks/delegate-task.ts";
import { listTasks, readTaskDetail, type TaskPosition } from "#crud/workflows/tasks/list-tasks.ts";
import { completeTask } from "#crud/workflows/tasks/resume-run.ts";
import type { TaskContext } from "#crud/workflows/tasks/task-context.ts";
import { summarizeTasks } from "#crud/workflows/tasks/task-summary.ts";
import { answerOf, askedOf, byOf } from "./asked.ts";
import { requirePair } from "./run-rights.ts";

export interface TaskEndpoints extends TaskContext {
  readonly bus: Pick<LiveBus, "head">;
  readonly sealing: Pick<SealedCursorsParts, "secrets" | "now">;
}

/** Tasks over HTTP. */
export const serveTasks = (router: Router<Caller>, parts: TaskEndpoints): void => {
  const cursors = createSealedCursors<TaskPosition>({ ...parts.sealing, purpose: "crud.task-cursor" });

  router.serve(listEndpoint, async (call) => {
    const by = byOf(call);
    await requirePair(parts, by, { type: "tasks", action: "view_all" });
    const { limit, cursor, workflow_id, run_id, created_by, completed_by, assigned_to, overdue, ...filter } = call.query;
    const streamSeq = Number(await parts.bus.head(call.caller.tenant, "workflow"));
    const page = await listTasks(
      { ...parts, cursors },
      {
        filter: {
          ...filter,
          workflow: workflow_id,
          run: run_id,
          createdBy: created_by,
          completedBy: completed_by,
          isMine: assigned_to === "me",
          overdue: overdue === undefined ? undefined : overdue === "true",
        },
        limit,
        cursor,
        by,
      },
    );
    return { ...page, stream_seq: streamSeq };
  });
  router.serve(taskSummary, async (call) => {
    await requirePair(parts, byOf(call), { type: "tasks", action: "view_summary" });
    return summarizeTasks(parts, byOf(call));
  });
  router.serve(readTask, async (call) => {
    const task = await readTaskDetail(parts, { task: call.params.id, by: byOf(call) });
    return answer(task, { headers: { etag: versionTag(task.state_version) } });
  });
  router.serve(completeEndpoint, async (call) => answerOf(await completeTask(parts, { task: call.params.id, ...askedOf(call) })));
  router.serve(delegateEndpoint, async (call) => {
    const ifMatch = tagsOf(call.request.headers, "if-match") ?? undefined;
    const task = await delegateTask(parts, { task: call.params.id, ...call.body, ifMatch, by: byOf(call) });
    return answer(task, { headers: { etag: versionTag(task.state_version) } });
  });
};
