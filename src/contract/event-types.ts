import { z } from "zod";
import { secretOperations, type SecretOperation } from "./secret-operations.ts";
import { secretStores } from "./secret-schemes.ts";
import { toolCallEventMembers } from "./tool-call-record.ts";

/** Every event that leaves Sallyport. Consumers rely on these shapes, so within `.v1` only optional members are added. */
export interface EventType {
  readonly topic: string;
  /** The service that emits it. */
  readonly service: string;
  readonly data: z.ZodObject;
  /** What a record's key names; events of one key keep their order. */
  readonly key: string;
  /** When it is emitted, in one sentence. */
  readonly summary: string;
}

const text = z.string();
const count = z.number().int();
const correlated = { correlation_id: text };

const secret = z.object({
  op: text,
  purpose: text,
  provider: text,
  resource_ref: text.optional(),
  fragment_present: z.boolean(),
  versions: z.array(count),
  cas: count.optional(),
  cached: z.boolean(),
  outcome: z.enum(["ok", "denied"]),
  code: text.optional(),
  decision_id: text.optional(),
  /** The policies that decided. */
  policy_version: text.optional(),
  actor: z.object({
    kind: text,
    id: text.optional(),
    agent_id: text.optional(),
    tool_id: text.optional(),
    delegation_id: text.optional(),
  }),
  ...correlated,
  duration_ms: count,
});

const decision = z.object({
  decision_id: text,
  subject_ref: text.optional(),
  agent: text.optional(),
  resource_type: text,
  resource_ref: text.nullish(),
  action: text,
  decision: z.boolean(),
  reason: text.optional(),
  showing: z.boolean().optional(),
  policy_version: text,
  graph_version: z.number().optional(),
  latency_ms: z.number(),
  cached: z.boolean(),
  batch_index: count.optional(),
});

const notice = z.object({
  decision_id: text,
  audience: z.unknown().optional(),
  template: z.unknown().optional(),
  decision: z.boolean(),
  action: text,
  resource_type: text,
});

/** Of the audit entry of a call: digests, counts and codes. */
const toolCall = z.object({
  call_id: text,
  tool: text,
  outcome: text,
  code: text.optional(),
  subject_ref: text,
  agent_id: text.optional(),
  delegation_id: text.optional(),
  decision_id: text.optional(),
  ...correlated,
  ...toolCallEventMembers,
});

const definition = z.object({
  service: text,
  added: z.array(text),
  removed: z.array(text),
  /** At most 50 names; `more`: how many are left out. */
  changed: z.array(text),
  more: count.optional(),
  state: text,
});

const session = z.object({
  session_ref: text.optional(),
  subject_ref: text.optional(),
  op: text.optional(),
  reason: text.optional(),
  acr: text.optional(),
  amr: z.array(text).optional(),
  issuer: text.optional(),
});

const budget = z.object({
  delegation_id: text.optional(),
  steps_left: z.number().optional(),
  budget_left_usd: z.number().optional(),
  used_steps: z.number().optional(),
  used_usd: z.number().optional(),
  held_steps: z.number().optional(),
  held_usd: z.number().optional(),
  /** Of its limits used up: 80 or 100. */
  percent: z.number().optional(),
  op: text.optional(),
  limit_id: text.optional(),
  scope: text.optional(),
  period: text.optional(),
});

/** Who did it, as the tenant's audit log names them; absent of Sallyport's own acts and of another tenant's. */
const author = z.object({ ref: text }).optional();

const policy = z.object({
  op: text,
  version: text,
  from: text.nullish(),
  epoch: z.number().optional(),
  digest: text.optional(),
  author,
});

const configuration = z.object({
  kind: text,
  id: text,
  /** The same; on a live stream `id` is the event's own. */
  name: text,
  version: count,
  etag: text,
  op: text,
  state: text,
  author,
  /** Names of tools, at most 50 each. */
  affects: z.object({ added: z.array(text), removed: z.array(text), changed: z.array(text) }),
});

const routeTable = z.object({
  kind: text,
  version: text,
  previous: text.optional(),
  op: text,
  added: count.optional(),
  changed: count.optional(),
  removed: count.optional(),
});

/** Never inputs, outputs or names of persons. */
const workflowRun = z.object({
  run_id: text,
  workflow: text,
  version: text,
  /** As clients see the phase: a run that undoes is running. */
  status: text,
  phase: text,
  reason: text.optional(),
  state_version: count,
});
const workflowStep = workflowRun.extend({
  step: z.object({ path: text, name: text, kind: text, status: text, attempt: count }),
  task_id: text.optional(),
});

/** Events of one shape: the summary of each by its type. */
const typesOf = (shared: Omit<EventType, "summary">, summaries: Readonly<Record<string, string>>): Record<string, EventType> =>
  Object.fromEntries(Object.entries(summaries).map(([type, summary]) => [type, { ...shared, summary }]));

const tools = { topic: "tools.calls.v1", service: "crud" };
const graph = { topic: "graph.events.v1", service: "membership" };

/** Of operations, of denials, and of what was done to versions of a store, or to the file. */
const secretSummaries = Object.fromEntries([
  ...Object.values<SecretOperation>(secretOperations).flatMap(({ event }) => (event === undefined ? [] : [[event.type, event.summary]])),
  ["secrets.denied", "An operation was denied."],
  ...Object.values(secretStores).flatMap(({ events }) => Object.values(events).map(({ type, summary }) => [type, summary])),
]) as Readonly<Record<string, string>>;

/** By type, without its version. What has no row here is shown on live streams alone. */
export const eventTypes: Readonly<Record<string, EventType>> = {
  ...typesOf(
    { topic: "secrets.events.v1", service: "secrets", data: secret, key: "reference of the secret, else the tenant" },
    secretSummaries,
  ),
  ...typesOf(
    { topic: "authz.decisions.v1", service: "pdp", data: decision, key: "reference of the subject" },
    { "authz.decision": "The decision point answered; which answers, `PDP_EVENTS` says." },
  ),
  ...typesOf(
    { topic: "authz.decisions.v1", service: "pdp", data: notice, key: "the decision" },
    { "decision.notice": "A decision obliges to notify somebody." },
  ),
  ...typesOf(
    { ...tools, data: toolCall, key: "the delegation, else the caller's reference" },
    {
      "tool.started": "A tool call was opened.",
      "tool.called": "A tool call has ended, with its result or an error of the upstream.",
      "tool.refused": "A tool call was refused.",
      "tool.unknown": "A tool call has ended, and its outcome is unknown.",
    },
  ),
  ...typesOf(
    { ...tools, data: definition, key: "the system of the tools" },
    { "tool.approved": "Definitions of tools were approved.", "tool.drifted": "Definitions of tools differ from what was approved." },
  ),
  ...typesOf(
    { ...tools, data: z.object({ scope: text, op: text, reason: text }), key: "the kill switch" },
    { "kill.changed": "A kill switch was set or lifted." },
  ),
  ...typesOf(
    { ...graph, data: z.object({ graph_version: count, kinds: z.array(text) }), key: "the graph" },
    { "graph.changed": "The identity graph has a new version." },
  ),
  ...typesOf(
    { ...graph, data: z.object({ agent_id: text, op: text, graph_version: count }), key: "the agent" },
    { "agent.suspended": "An agent was suspended.", "agent.resumed": "A suspended agent may act again." },
  ),
  ...typesOf(
    // At most 50 ids: the change log has all.
    { ...graph, data: z.object({ graph_version: count, ids: z.array(text) }), key: "the registry" },
    { "registry.changed": "Services, tools, resources or prompts of the registry changed." },
  ),
  ...typesOf(
    { ...graph, data: z.object({ graph_version: count, written: count }), key: "the import" },
    { "import.finished": "An import was written into the graph." },
  ),
  ...typesOf(
    { ...graph, data: z.object({ delegation_id: text, agent_id: text, op: text, status: text }), key: "the delegation" },
    {
      "delegation.granted": "A delegation was created.",
      "delegation.narrowed": "A delegation allows less.",
      "delegation.extended": "A delegation allows more, or for longer.",
      "delegation.paused": "A delegation was paused.",
      "delegation.resumed": "A paused delegation is active again.",
      "delegation.revoked": "A delegation was revoked.",
      "delegation.expired": "A delegation has reached its end.",
      "delegation.exhausted": "The steps or the budget of a delegation are used up.",
    },
  ),
  ...typesOf(
    { ...graph, data: budget, key: "the delegation; the budget limit" },
    {
      "budget.moved": "Steps or money of a delegation were reserved, settled or released.",
      "budget.threshold": "80 or 100 percent of a delegation's limits are used up.",
      "budget.limit_changed": "A budget limit was set or deleted.",
    },
  ),
  ...typesOf(
    { topic: "policy.events.v1", service: "pdp", data: policy, key: "the policy version" },
    {
      "policy.drafted": "A policy version was drafted.",
      "policy.dropped": "A draft was deleted.",
      "policy.shadowed": "A version decides in the shadow.",
      "policy.unshadowed": "A version no longer decides in the shadow.",
      "policy.activated": "A version became the active one.",
      "policy.rolled_back": "An earlier version became the active one again.",
    },
  ),
  ...typesOf(
    { topic: "sessions.events.v1", service: "gateway", data: session, key: "reference of the session" },
    {
      "session.created": "Somebody signed in.",
      "session.refreshed": "The tokens of a session were renewed.",
      "session.stepped_up": "A stronger session took the place of a weaker one.",
      "session.ended": "A session has ended.",
      "signin.failed": "A sign-in failed; its key is `signin`.",
    },
  ),
  ...typesOf(
    { topic: "config.events.v1", service: "crud", data: configuration, key: "kind and id of the object" },
    {
      "config.published": "A version of a configuration object was published.",
      "config.deleted": "A configuration object was deleted.",
      "config.rolled_back": "An earlier version of a configuration object was published again.",
      "config.degraded": "A configuration object has issues and is served in part, or not at all.",
      "config.repaired": "A degraded configuration object is whole again.",
    },
  ),
  ...typesOf(
    { topic: "workflows.events.v1", service: "crud", data: workflowRun, key: "the run" },
    {
      "run.pending": "A run of a workflow was started.",
      "run.running": "A run goes on.",
      "run.waiting": "A run waits; its reason says for what.",
      "run.suspended": "A run was stopped for a while, or its delegation has ended.",
      "run.undoing": "The steps of a run are undone.",
      "run.completed": "A run has ended as its workflow says.",
      "run.faulted": "A run has ended with an error.",
      "run.cancelled": "A run was cancelled.",
    },
  ),
  ...typesOf(
    { topic: "workflows.events.v1", service: "crud", data: workflowStep, key: "the run" },
    {
      "step.started": "A call of a step was opened, or a block was entered.",
      "step.waiting": "A step waits.",
      "step.retrying": "A step is tried again.",
      "step.completed": "A step is done.",
      "step.skipped": "The condition of a step is false.",
      "step.failed": "A step failed, or its outcome is unknown.",
      "step.compensated": "A step was undone.",
      "step.cancelled": "A step ended with its run, or with the block around it.",
    },
  ),
  ...typesOf(
    { topic: "config.events.v1", service: "gateway", data: routeTable, key: "the kind" },
    { "config.reloaded": "The route table was read anew." },
  ),
};

/** The version that all types of this table have. */
export const eventVersion = "v1";
