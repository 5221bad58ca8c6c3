import type { BodyOf } from "#contract/endpoint.ts";
import type { completeTask } from "#contract/tasks.ts";
import type { Caller } from "#authn/model/caller.ts";
import { Problem } from "#contract/problem.ts";
import { namesTag, tagsOf } from "#http/entity-tags.ts";
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

/** The version that a verb is for; undefined: any. Throws `state_version_required`, `stale_version`. */
export const versionOf = ({ request }: Pick<Sent, "request">, current: number): number | undefined => {
  const tags = tagsOf(request.headers, "if-match");
  if (tags === null) throw new Problem("state_version_required");
  const tag = versionTag(current);
  if (!namesTag(tags, tag)) throw new Problem("stale_version", { headers: { etag: tag } });
  return tags.split(",").some((one) => one.trim() === "*") ? undefined : current;
};

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
