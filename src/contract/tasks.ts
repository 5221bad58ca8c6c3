import { z } from "zod";
import { endpoint, withoutAgents } from "./endpoint.ts";
import { nodeId, plainText, prose, timestamp } from "./ids.ts";
import { answerProblems, runIdFilter, runPage, several, stateTag, taskAnswer, workflowFilter } from "./workflow-runs.ts";

/** What people are asked in runs of workflows. `ETag` of a task is `"<state_version>"` of the task, not of its run. */

const BASE = "/tasks";
const one = z.object({ id: plainText(1, 64) });

export const taskStatuses = ["PENDING", "COMPLETED", "REJECTED", "EXPIRED", "CANCELLED"] as const;
export const taskKinds = ["approval", "form", "choice", "unknown_outcome"] as const;
/** Why the caller cannot decide: a problem code, or `too_few_approvers`. */
export const whyNot = z.enum(["already_decided", "separation_of_duties", "person_required", "access_denied", "too_few_approvers"]);

export const task = z.object({
  id: z.string(),
  kind: z.enum(taskKinds),
  title: z.string(),
  description: z.string().nullable(),
  status: z.enum(taskStatuses),
  origin: z.enum(["workflow", "unknown_outcome"]),
  workflow: z.string(),
  run_id: z.string(),
  /** Name of the step that waits. */
  step: z.string(),
  created_by: z.string(),
  created_by_agent: z.string().nullable(),
  created_at: timestamp,
  due_at: timestamp.nullable(),
  expires_at: timestamp.nullable(),
  overdue: z.boolean(),
  /** How many distinct persons must give the same decision, and how many gave the most frequent one. */
  required: z.int(),
  received: z.int(),
  allowed_decisions: z.array(z.string()),
  decision: z.string().nullable(),
  completed_by: z.string().nullable(),
  completed_at: timestamp.nullable(),
  form: z.string().nullable(),
  state_version: z.int(),
  /** A stronger sign-in may still be demanded. */
  you_may: z.boolean(),
  why_not: whyNot.nullable(),
});
export type Task = z.infer<typeof task>;

export const taskDetail = task.extend({
  /** Read-only; each decision is bound to its digest. */
  evidence: z.unknown(),
  /** What the form is filled with. */
  data: z.unknown(),
  approvers: z.array(z.object({ identity: z.string(), source: z.enum(["assigned", "delegated", "excluded"]) })),
  decisions: z.array(z.object({ sub: z.string(), decision: z.string(), at: timestamp })),
});
export type TaskDetail = z.infer<typeof taskDetail>;

const reading = (decision: string) => withoutAgents({ scope: ["tasks.read"], decision });

export const listTasks = endpoint("crud", "GET", BASE, {
  query: z.strictObject({
    status: several(z.enum(taskStatuses)),
    type: several(z.enum(taskKinds)),
    /** Name of a workflow. */
    workflow_id: workflowFilter.optional(),
    run_id: runIdFilter.optional(),
    created_by: nodeId.optional(),
    /** Who decided it, alone or with others. */
    completed_by: nodeId.optional(),
    /** Only what is put to the caller, in person or by a group or role. */
    assigned_to: z.literal("me").optional(),
    overdue: z.enum(["true", "false"]).optional(),
    /** Part of title or description, whatever its case. */
    search: plainText(1, 200).optional(),
    sort: z.enum(["created_at", "-created_at", "due_at"]).default("-created_at"),
    ...runPage,
  }),
  repeated: ["status", "type"],
  reply: z.object({ items: z.array(task), next_cursor: z.string().optional(), stream_seq: z.int() }),
  ...reading("tasks/view_all"),
  problems: ["invalid_cursor", "membership_unavailable"],
  summary: "Tasks that the caller may view. A page may be shorter than its limit and still have a next one.",
});

export const taskSummary = endpoint("crud", "GET", `${BASE}/summary`, {
  reply: z.object({
    pending: z.int(),
    /** Put to the caller and not yet answered. */
    mine: z.int(),
    awaiting_my_approval: z.int(),
    overdue: z.int(),
    due_today: z.int(),
    completed_7d: z.int(),
    by_kind: z.record(z.string(), z.int()),
    oldest_pending_at: timestamp.nullable(),
  }),
  ...reading("tasks/view_summary"),
  problems: ["membership_unavailable"],
  summary: "Counts of the tenant's open tasks; days are those of UTC.",
});

export const readTask = endpoint("crud", "GET", `${BASE}/{id}`, {
  params: one,
  reply: taskDetail,
  ...reading("tasks/view"),
  problems: ["membership_unavailable"],
  summary: "One task with its evidence, approvers and decisions.",
});

export const completeTask = endpoint("crud", "POST", `${BASE}/{id}/complete`, {
  params: one,
  headers: stateTag,
  body: taskAnswer,
  reply: task,
  ...withoutAgents({ scope: ["tasks.complete"], decision: "tasks/complete" }),
  problems: answerProblems,
  summary: "Decide a task.",
});

export const delegateTask = endpoint("crud", "POST", `${BASE}/{id}/delegate`, {
  params: one,
  headers: stateTag,
  body: z.strictObject({ to: nodeId, note: prose(1, 1000).optional() }),
  reply: task,
  ...withoutAgents({ scope: ["tasks.complete"], decision: "tasks/delegate" }),
  problems: [
    "stale_version",
    "already_decided",
    "delegated_already",
    "separation_of_duties",
    "unprocessable",
    "audit_unavailable",
    "membership_unavailable",
  ],
  summary: "Pass a task on to another person, who is asked from now on instead of the caller.",
});
