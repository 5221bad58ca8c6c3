import { nodeId } from "#contract/ids.ts";
import { statement, type TransactionSql } from "#store/database.ts";
import { hideSealed } from "#crud/model/sealed-values.ts";
import { sha256Of } from "#crud/model/digest.ts";
import type { RunNotice, TaskDraft, TaskPort } from "#crud/workflows/engine/step-calls.ts";
import type { TaskContext } from "./task-context.ts";
import { readTask } from "./task-rows.ts";
import { hasTooFew } from "./task-standing.ts";

const OPEN = statement(
  "crud.task_open",
  `insert into crud.task (id, tenant, run_id, path, step, workflow, kind, title, description, owner, created_by, created_by_agent, created_at,
     due_at, expires_at, required, allowed_decisions, is_separated, separated_steps, form, prefill, evidence, evidence_digest)
   values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, date_trunc('milliseconds', crud.wf_now()), $13::timestamptz, $14::timestamptz, $15::int, $16::text[], $17,
     $18::text[], $19, $20::json, $21::json, $22)`,
);
const ASK = statement(
  "crud.task_ask",
  "insert into crud.task_approver (task_id, identity, source) select $1, identity, 'assigned' from unnest($2::text[]) as a (identity)",
);
/** Decided before: it stays as it is. */
const CLOSE = statement(
  "crud.task_close",
  `update crud.task set status = $2, completed_at = crud.wf_now(), state_version = state_version + 1 where id = $1 and status = 'PENDING'`,
);

const MAX_TITLE = 500;
const MAX_DESCRIPTION = 4000;
const MAX_APPROVERS = 100;

const titles: Readonly<Record<RunNotice, string>> = {
  compensation_incomplete: "an undo failed",
  step_up: "a stronger sign-in is needed",
  reauth: "a sign-in is needed",
};

const textOf = (value: unknown): string => (typeof value === "string" ? value : (JSON.stringify(value) ?? ""));
/** Control characters are no part of what a person is shown. */
const lineOf = (value: unknown, max: number): string =>
  textOf(value)
    .replace(/[\p{Cc}\p{Cs}]+/gu, " ")
    .slice(0, max);

/** What an expression gave that is no id asks nobody: too few approvers are reported. */
const idsOf = (assign: unknown): readonly string[] => {
  const given: readonly unknown[] = Array.isArray(assign) ? assign.flat() : [assign];
  return [...new Set(given.filter((id): id is string => nodeId.safeParse(id).success))].slice(0, MAX_APPROVERS);
};

export const stepOf = (path: string): string => path.slice(path.lastIndexOf("/") + 1);
export const pageOfTask = (id: string): string => `/tasks/${id}`;
export const pageOfRun = (id: string): string => `/workflows/runs/${id}`;

/** Opens and closes tasks in the engine's transactions; those who are asked are notified by the same commit. */
export const createTaskPort = (parts: Pick<TaskContext, "notify">): TaskPort => {
  const open = async (sql: TransactionSql, task: TaskDraft): Promise<void> => {
    const { id, run, path, kind, fields, owner } = task;
    const { title, description, assign, required, separationOfDuties: separation, form, data, evidence } = fields;
    const shown = lineOf(hideSealed(title), MAX_TITLE);
    const stored = evidence === undefined ? null : JSON.stringify(evidence);
    const digest = sha256Of(stored === null ? null : JSON.parse(stored));
    const names = Array.isArray(separation) ? separation.map(String) : [];
    const approvers = idsOf(assign);
    sql.post(OPEN, [
      id,
      run.tenant,
      run.id,
      path,
      stepOf(path),
      run.name,
      kind,
      shown,
      description === undefined || description === null ? null : textOf(hideSealed(description)).slice(0, MAX_DESCRIPTION),
      owner,
      run.subject,
      run.agent,
      task.dueAt ?? null,
      task.expiresAt ?? null,
      typeof required === "number" ? required : 1,
      task.decisions,
      separation === true || names.length > 0,
      names,
      typeof form === "string" ? form : null,
      data === undefined ? null : JSON.stringify(data),
      stored,
      digest,
    ]);
    sql.post(ASK, [id, approvers]);
    const notice = { id, tenant: run.tenant, title: shown, from: run.subject, href: pageOfTask(id) };
    await parts.notify(sql, { ...notice, kind: kind === "unknown_outcome" ? kind : "task", recipients: approvers });
    const state = await readTask(sql, { id, tenant: run.tenant });
    if (state !== undefined && hasTooFew(state)) await parts.notify(sql, { ...notice, kind: "too_few_approvers", recipients: [owner] });
  };
  return {
    openTask: open,
    closeTask: async (sql, id, status) => sql.post(CLOSE, [id, status]),
    notifyPerson: async (sql, run, { event, to }) =>
      parts.notify(sql, {
        kind: event,
        id: run.id,
        tenant: run.tenant,
        title: `${run.name}: ${titles[event]}`,
        from: run.subject,
        href: pageOfRun(run.id),
        recipients: [to],
      }),
  };
};
