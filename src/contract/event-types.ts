import { z } from "zod";
import { secretOperations, type SecretOperation } from "./secret-operations.ts";
import { secretStores } from "./secret-schemes.ts";

/**
 * Every event that leaves Sallyport: its topic, the service it speaks for, and its data. Consumers go by these shapes, so
 * within `.v1` only members that may be absent are added.
 */
export interface EventType {
  readonly topic: string;
  readonly service: string;
  readonly data: z.ZodObject;
}

const text = z.string();
const count = z.number().int();
const money = z.object({ steps: count, usd: text });
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
  source: text.optional(),
  mcp_method: text.optional(),
  view: text.optional(),
  arguments_digest: text.optional(),
  definition_digest: text.optional(),
  reserve: money.optional(),
  replayed: z.boolean().optional(),
  duration_ms: count.optional(),
  upstream_status: count.optional(),
  output_digest: text.optional(),
  rows_out: count.optional(),
  settle: money.extend({ state: text.optional() }).partial().optional(),
  left: money.optional(),
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

const typesOf = (topic: string, service: string, data: z.ZodObject, types: readonly string[]): Record<string, EventType> =>
  Object.fromEntries(types.map((type) => [type, { topic, service, data }]));

const delegationOps = ["granted", "narrowed", "extended", "paused", "resumed", "revoked", "expired", "exhausted"];
/** Beside the operations: denials, and what was done to versions of a store, or to the file. */
const secretTypes = [
  "secrets.denied",
  ...Object.values<SecretOperation>(secretOperations).flatMap(({ event = [] }) => event),
  ...Object.values(secretStores).flatMap(({ events }) => Object.values(events)),
];

const policyActs = ["drafted", "dropped", "shadowed", "unshadowed", "activated", "rolled_back"];

/** By type, without its version. What has no row here is told on live streams alone. */
export const eventTypes: Readonly<Record<string, EventType>> = {
  ...typesOf("secrets.events.v1", "secrets", secret, secretTypes),
  ...typesOf("authz.decisions.v1", "pdp", decision, ["authz.decision"]),
  ...typesOf("authz.decisions.v1", "pdp", notice, ["decision.notice"]),
  ...typesOf("tools.calls.v1", "crud", toolCall, ["tool.started", "tool.called", "tool.refused", "tool.unknown"]),
  ...typesOf("tools.calls.v1", "crud", definition, ["tool.approved", "tool.drifted"]),
  ...typesOf("tools.calls.v1", "crud", z.object({ scope: text, op: text, reason: text }), ["kill.changed"]),
  ...typesOf("graph.events.v1", "membership", z.object({ graph_version: count, kinds: z.array(text) }), ["graph.changed"]),
  ...typesOf("graph.events.v1", "membership", z.object({ agent_id: text, op: text, graph_version: count }), [
    "agent.suspended",
    "agent.resumed",
  ]),
  // At most 50 ids: the change log has all.
  ...typesOf("graph.events.v1", "membership", z.object({ graph_version: count, ids: z.array(text) }), ["registry.changed"]),
  ...typesOf("graph.events.v1", "membership", z.object({ graph_version: count, written: count }), ["import.finished"]),
  ...typesOf(
    "graph.events.v1",
    "membership",
    z.object({ delegation_id: text, agent_id: text, op: text, status: text }),
    delegationOps.map((op) => `delegation.${op}`),
  ),
  ...typesOf("graph.events.v1", "membership", budget, ["budget.moved", "budget.threshold", "budget.limit_changed"]),
  ...typesOf(
    "policy.events.v1",
    "pdp",
    policy,
    policyActs.map((act) => `policy.${act}`),
  ),
  ...typesOf("sessions.events.v1", "gateway", session, [
    "session.created",
    "session.refreshed",
    "session.stepped_up",
    "session.ended",
    "signin.failed",
  ]),
  ...typesOf("config.events.v1", "crud", configuration, [
    "config.published",
    "config.deleted",
    "config.rolled_back",
    "config.degraded",
    "config.repaired",
  ]),
  ...typesOf("config.events.v1", "gateway", routeTable, ["config.reloaded"]),
};

/** The version that all types of this table have. */
export const eventVersion = "v1";
