import type { BodyOf } from "#contract/endpoint.ts";
import type { completeTask } from "#contract/tasks.ts";
import type { Caller } from "#authn/model/caller.ts";
import { tagsOf } from "#http/entity-tags.ts";
import { answer } from "#http/serve.ts";
import { versionTag, type Answer } from "#crud/workflows/tasks/check-answer.ts";
import type { Replayable } from "#crud/workflows/tasks/resume-run.ts";
import type { TaskCaller } from "#crud/workflows/tasks/task-context.ts";

/** A request of a caller. */
export interface Sent {
  readonly caller: Caller;
  readonly request: Request;
  readonly correlationId: string;
}

export const byOf = ({ caller, correlationId }: Sent): TaskCaller => ({ caller, correlationId });

/** What somebody answers to a task or run, from body and header. */
export const askedOf = (sent: Sent & { readonly body: BodyOf<typeof completeTask> }): { by: TaskCaller; answer: Answer } => {
  const { decision, data, comment, state_version: stateVersion, idempotency_key: idempotencyKey } = sent.body;
  const ifMatch = tagsOf(sent.request.headers, "if-match") ?? undefined;
  return { by: byOf(sent), answer: { decision, data, comment, stateVersion, idempotencyKey, ifMatch } };
};

/** With its new tag, and whether it is the first answer to this key again. */
export const answerOf = <View extends { readonly state_version: number }>({ answer: view, isReplayed }: Replayable<View>) =>
  answer(view, {
    headers: { etag: versionTag(view.state_version), ...(isReplayed ? { "idempotency-replayed": "true" } : {}) },
  });
