import { z } from "zod";
import { workflowAddress } from "./configs.ts";
import { endpoint, withoutAgents } from "./endpoint.ts";
import { correlationIdPattern, idempotencyKey, nodeId, pageCursor, plainText, prose, queryIntegerOr, timestamp, usd } from "./ids.ts";

/**
 * Runs of workflows. A run is seen by who started it, by who controls its agent, and by who may `workflows/view_runs`. `ETag` of a run is
 * `"<state_version>"`, raised by all that could alter a decision.
 */

const BASE = "/workflows/runs";
/** As a filter takes it. */
export const runIdFilter = z.string().regex(/^run_[0-9A-HJKMNP-TV-Z]{26}$/, "is no id of a run");
/** As runs have it, with `_` for `-`, which is taken too. */
export const workflowFilter = z
  .string()
  .regex(/^[a-z]([a-z0-9_-]{0,38}[a-z0-9])?$/, "is no name of a workflow")
  .transform((name) => name.replaceAll("-", "_"));
export const runId = plainText(1, 64);
const one = z.object({ id: runId });

export const runPhases = ["pending", "running", "waiting", "suspended", "undoing", "completed", "faulted", "cancelled"] as const;
/** As clients see a phase: `undoing` is `running`. */
export const runStatuses = ["pending", "running", "waiting", "suspended", "completed", "faulted", "cancelled"] as const;
export const runReasons = [
  "human",
  "timer",
  "retry",
  "denied",
  "budget",
  "step_up",
  "reauth",
  "unavailable",
  "unknown_outcome",
  "operator",
  "revoked",
  "fault",
  "cancel",
  "error",
  "compensated",
  "compensation_incomplete",
] as [string, ...string[]];
export const stepStatuses = ["running", "waiting", "done", "skipped", "failed", "unknown", "undone", "cancelled"] as const;
export const runVerbs = ["cancel", "suspend", "unsuspend", "retry", "rerun", "takeover"] as const;
export type RunVerb = (typeof runVerbs)[number];

/** Of a query: a page of at most 200. */
export const runPage = { limit: queryIntegerOr(50, 1, 200), cursor: pageCursor.optional() };
/** A parameter that may be given several times. */
export const several = <Item extends z.ZodType>(item: Item) => z.array(item).min(1).max(50).optional();

/** Of a step or run: RFC 9457's members. `instance` is the path of the step. */
export const runError = z.object({
  type: z.string(),
  status: z.int(),
  title: z.string().optional(),
  detail: z.string().optional(),
  instance: z.string().optional(),
});

/** What somebody is asked for, so that a run goes on. `task_id` null: it is no task. */
export const requiredAction = z.object({
  task_id: z.string().nullable(),
  /** Kind of the task, or `retry`, `step_up`, `budget`, `reauth`, `unknown_outcome`, `none`. */
  task_type: z.string(),
  task_name: z.string(),
  title: z.string(),
  allowed_decisions: z.array(z.string()),
  required: z.int(),
  received: z.int(),
  you_may: z.boolean(),
  why_not: z.string().nullable(),
  form: z.string().nullable(),
  /** Of the page in the browser. */
  url: z.string(),
});

/** What a run waits for, with the request that answers it. */
export const waiting = z.object({
  contract_version: z.literal("1.0"),
  workflow_status: z.enum(runStatuses),
  run_id: z.string(),
  workflow: z.string(),
  version: z.string(),
  state_version: z.int(),
  reason: z.string().nullable(),
  expires_at: timestamp,
  required_actions: z.array(requiredAction),
  request_format: z.object({
    method: z.literal("POST"),
    url: z.string(),
    headers: z.record(z.string(), z.string()),
    body: z.looseObject({ decision: z.string(), state_version: z.int(), idempotency_key: z.string() }),
  }),
});

/** A run as lists have it: no values. */
export const runRow = z.object({
  id: z.string(),
  workflow: z.string(),
  /** Tenant without `tenant:`, or `all`. */
  namespace: z.string(),
  version: z.string(),
  phase: z.enum(runPhases),
  status: z.enum(runStatuses),
  /** One of `runReasons`; null: none. */
  reason: z.string().nullable(),
  state_version: z.int(),
  started_by: z.object({ sub: z.string(), agent: z.string().nullable(), delegation_id: z.string().nullable() }),
  cost: z.object({ usd, steps: z.int() }),
  created_at: timestamp,
  updated_at: timestamp,
  ended_at: timestamp.nullable(),
  wake_at: timestamp.nullable(),
  deadline: timestamp,
  correlation_id: z.string(),
});

export const run = runRow.extend({
  /** Values are absent for who sees only a task of the run. */
  input: z.unknown().optional(),
  output: z.unknown().optional(),
  error: runError.nullish(),
  waiting: waiting.nullable(),
  /** Paths below this service: `self`, `resume`, `steps`, `diagram`. */
  _links: z.record(z.string(), z.string()),
  /** Verbs that the reader may use now. Absent in the answer of `resume`. */
  may: z.array(z.enum(runVerbs)).optional(),
});
export type Run = z.infer<typeof run>;

const reading = withoutAgents({ scope: ["workflows.read"], decision: "workflows/view_runs" });
const problems = ["not_found", "membership_unavailable"] as const;

export const listRuns = endpoint("crud", "GET", BASE, {
  query: z.strictObject({
    /** Name of a workflow. */
    workflow: workflowFilter.optional(),
    phase: several(z.enum(runPhases)),
    status: several(z.enum(runStatuses)),
    reason: several(z.enum(runReasons)),
    started_by: nodeId.optional(),
    agent: nodeId.optional(),
    delegation: nodeId.optional(),
    correlation_id: z.string().regex(correlationIdPattern, "is no correlation id").optional(),
    created_after: timestamp.optional(),
    created_before: timestamp.optional(),
    /** Part of the id or of the workflow's name, whatever its case. */
    search: plainText(1, 200).optional(),
    /** Only those that the caller started, in person or by an agent. */
    mine: z.enum(["true", "false"]).optional(),
    ...runPage,
  }),
  repeated: ["phase", "status", "reason"],
  reply: z.object({ items: z.array(runRow), next_cursor: z.string().optional(), stream_seq: z.int() }),
  ...reading,
  problems: ["invalid_cursor", "membership_unavailable"],
  summary: "Runs of workflows that the caller may see, newest first; without their values.",
});

export const readRun = endpoint("crud", "GET", `${BASE}/{id}`, {
  params: one,
  reply: run,
  ...reading,
  problems,
  summary: "One run with its values and what it waits for.",
});

/** One try of a step's tool call. */
export const runAttempt = z.object({
  attempt: z.int(),
  /** Null: it is under way. */
  outcome: z.string().nullable(),
  decision_id: z.string().nullable(),
  /** Act of its audit entries, and the id of its tool call. */
  audit_id: z.string(),
  cost_usd: usd.nullable(),
  started_at: timestamp,
  ended_at: timestamp.nullable(),
  ms: z.int().nullable(),
});

export const runStep = z.object({
  path: z.string(),
  name: z.string(),
  kind: z.string(),
  status: z.enum(stepStatuses),
  reason: z.string().nullable(),
  attempt: z.int(),
  error: runError.nullable(),
  /** Path of the step that it undoes. */
  undo_of: z.string().nullable(),
  task_id: z.string().nullable(),
  wake_at: timestamp.nullable(),
  started_at: timestamp,
  ended_at: timestamp.nullable(),
  ms: z.int().nullable(),
  attempts: z.array(runAttempt),
  /** Only where `path` names the step. */
  input: z.unknown().optional(),
  output: z.unknown().optional(),
});
export type RunStep = z.infer<typeof runStep>;

export const runSteps = endpoint("crud", "GET", `${BASE}/{id}/steps`, {
  params: one,
  query: z.strictObject({
    /** This step alone, with its values. */
    path: plainText(1, 2000).optional(),
    ...runPage,
  }),
  reply: z.object({ items: z.array(runStep), next_cursor: z.string().optional(), stream_seq: z.int() }),
  ...reading,
  problems: [...problems, "invalid_cursor"],
  summary: "Steps that a run has reached, in the order of their beginning, with their attempts.",
});

/** A node's id is the path of its step; of a step in a loop with `[]` for the number, `~undo` behind it for what undoes it. */
const node = z.object({
  id: z.string(),
  /** Of a step, or `start`, `end`, `undo`. */
  kind: z.string(),
  label: z.string(),
  tool: z.string().optional(),
  /** Id of the block around it. */
  group: z.string().optional(),
});
const edge = z.object({
  id: z.string(),
  from: z.string(),
  to: z.string(),
  label: z.string().optional(),
  kind: z.enum(["flow", "branch", "error", "undo"]),
});
export const diagram = z.object({ nodes: z.array(node), edges: z.array(edge) });
export type Diagram = z.infer<typeof diagram>;

export const workflowDiagram = endpoint("crud", "GET", "/workflows/{name}/diagram", {
  params: z.object({ name: workflowAddress }),
  reply: diagram,
  ...withoutAgents({ scope: ["workflows.read"], decision: "workflows/view_all" }),
  problems: ["not_found", "not_startable"],
  summary: "A workflow as nodes and edges.",
});

export const runDiagram = endpoint("crud", "GET", `${BASE}/{id}/diagram`, {
  params: one,
  reply: diagram.extend({
    nodes: z.array(
      node.extend({
        /** Absent: the run has not reached it. In a loop it is that of the newest turn. */
        status: z.enum(stepStatuses).optional(),
        attempt: z.int().optional(),
        duration_ms: z.int().nullish(),
      }),
    ),
  }),
  ...reading,
  problems,
  summary: "The version of its workflow that a run follows, as nodes and edges with the state of each step.",
});

/** Of a verb: needed; `*` names any version. Of an answer: needed, unless the body has `state_version`. */
export const stateTag = { "If-Match": z.string().optional() };

/** Of all verbs. */
export const actingOnRun = {
  params: one,
  headers: stateTag,
  reply: run,
  ...withoutAgents({ scope: ["workflows.operate"], decision: "workflows/operate" }),
  problems: [...problems, "state_version_required", "stale_version", "wrong_phase", "audit_unavailable"],
} as const;

export const cancelRun = endpoint("crud", "POST", `${BASE}/{id}/cancel`, {
  ...actingOnRun,
  /** `undo`: done steps are undone; true unless given. */
  body: z.strictObject({ undo: z.boolean().optional() }).optional(),
  summary: "End a run, and undo what it did. One's own needs no decision.",
});

export const suspendRun = endpoint("crud", "POST", `${BASE}/{id}/suspend`, {
  ...actingOnRun,
  summary: "Stop a run at its next step until it is let go on.",
});

export const unsuspendRun = endpoint("crud", "POST", `${BASE}/{id}/unsuspend`, {
  ...actingOnRun,
  summary: "Let a suspended run go on.",
});

export const retryRun = endpoint("crud", "POST", `${BASE}/{id}/retry`, {
  ...actingOnRun,
  /** `path`: the failed step; the one that ended the run unless given. */
  body: z.strictObject({ path: plainText(1, 2000).optional() }).optional(),
  problems: [...actingOnRun.problems, "unprocessable"],
  summary: "Repeat the step that ended a run, or the undoing that failed; also for the workflow's owner, not for who only started it.",
});

export const takeOverRun = endpoint("crud", "POST", `${BASE}/{id}/takeover`, {
  ...actingOnRun,
  summary: "Let the person go on alone with a run whose agent may no longer act.",
});

export const taskAnswer = z.strictObject({
  /** One of the task's `allowed_decisions`. */
  decision: plainText(1, 64),
  data: z.unknown().optional(),
  comment: prose(1, 1000).optional(),
  state_version: z.int().min(0).optional(),
  /** The same key and body give the first answer again. */
  idempotency_key: idempotencyKey,
});

/** Of both ways to answer: with 409 and 412 comes `waiting`, as it is now. */
export const answerProblems = [
  ...problems,
  "idempotency_mismatch",
  "state_version_required",
  "stale_version",
  "already_decided",
  "wrong_phase",
  "decision_not_allowed",
  "unprocessable",
  "value_too_large",
  "separation_of_duties",
  "audit_unavailable",
] as const;

export const resumeRun = endpoint("crud", "POST", `${BASE}/{id}/resume`, {
  params: one,
  headers: stateTag,
  /** Without `task_id` the only open task is meant, or what the run waits for besides tasks: `continue`, `cancel`. */
  body: taskAnswer.extend({ task_id: plainText(1, 64).optional() }),
  reply: run,
  ...withoutAgents({ scope: ["tasks.complete", "workflows.operate"], decision: "tasks/complete" }),
  problems: answerProblems,
  summary: "Answer what a run waits for, as its `waiting.request_format` shows.",
});
