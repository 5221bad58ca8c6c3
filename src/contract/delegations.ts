import { z } from "zod";
import { endpoint, withoutAgents } from "./endpoint.ts";
import { cursorPage, idempotencyKey, nodeId, plainText, prose, sentUsd, timestamp, usd } from "./ids.ts";
import { anyMembers, recordOf } from "./json-members.ts";
import { audience, delegationStatus } from "./membership.ts";
import { reservationView } from "./reservations.ts";

/** Delegations with their budgets; the money of a single call is in `reservations.ts`. */

const BASE = "/api/v1/delegations";
const id = z.object({ id: nodeId });
const reason = prose(3, 500);
const problems = ["not_found"] as const;

const draftProblems = [
  "budget_exhausted",
  "steps_exhausted",
  "agent_uncontrolled",
  "cross_tenant",
  "cycle",
  "edge_not_allowed",
  "unprocessable",
] as const;

/** A name of the IANA database; whether it is one is looked up where it is written. */
const timeZone = z
  .string()
  .max(64)
  .regex(/^[A-Z][A-Za-z0-9_+-]*(?:\/[A-Za-z0-9_+-]+){0,2}$/, "is no time zone");
const hour = (pattern: RegExp) => z.string().regex(pattern, "is no time of the day");
/** By the clock of the time zone; `to` no later than `from` = until the next morning, which belongs to the day before. */
const hours = z.strictObject({
  tz: timeZone,
  days: z
    .array(z.enum(["mon", "tue", "wed", "thu", "fri", "sat", "sun"]))
    .min(1)
    .max(7),
  from: hour(/^(?:[01][0-9]|2[0-3]):[0-5][0-9]$/),
  to: hour(/^(?:(?:[01][0-9]|2[0-3]):[0-5][0-9]|24:00)$/),
});
const toolId = plainText(1, 200);

/** When, and how fast and how dear one call may be; what lies above a delegation holds for it too. */
export const delegationConstraints = z.strictObject({
  /** Most that one call may be priced at. */
  per_call_usd: sentUsd(10_000).optional(),
  /** Steps in any 60 seconds. */
  per_minute_steps: z.number().int().min(1).max(100_000).optional(),
  hours: hours.optional(),
  /** Rows of these tenants alone. */
  tenant_ids: z.array(nodeId).max(100).optional(),
  /** JSON Schemas that the arguments of a tool must fit, by the tool's id. */
  args: recordOf(toolId, anyMembers).optional(),
});
export type DelegationConstraints = z.infer<typeof delegationConstraints>;

export const delegation = z.object({
  delegation_id: z.string(),
  delegator_id: z.string(),
  delegator_name: z.string().optional(),
  agent_id: z.string(),
  agent_name: z.string().optional(),
  parent_id: z.string().optional(),
  status: delegationStatus,
  hold: z.string().optional(),
  exhausted: z.boolean(),
  /** null = all that the agent has, now and later. */
  capabilities: z.array(z.string()).nullable(),
  constraints: delegationConstraints,
  budget_usd: usd,
  max_steps: z.number().int(),
  used_usd: usd,
  used_steps: z.number().int(),
  held_usd: usd,
  held_steps: z.number().int(),
  lent_usd: usd,
  lent_steps: z.number().int(),
  valid_from: timestamp,
  expires_at: timestamp.nullable(),
  purpose: z.string(),
  created_by: z.string(),
  created_at: timestamp,
  ended_at: timestamp.optional(),
  end_reason: z.string().optional(),
});
export type Delegation = z.infer<typeof delegation>;

export const delegationDraft = z.strictObject({
  id: nodeId.optional(),
  delegator_id: nodeId.optional(),
  agent_id: nodeId,
  /** Handed on by the agent of this delegation, out of what is left of it. */
  parent_id: nodeId.optional(),
  capabilities: z.array(plainText(1, 200)).max(500).nullable(),
  constraints: delegationConstraints.optional(),
  budget_usd: sentUsd(10_000),
  max_steps: z.number().int().min(1).max(100_000),
  valid_from: timestamp.optional(),
  /** Absent: 30 days from now, or the end of the delegation above. null: none, where Sallyport allows that. */
  expires_at: timestamp.nullable().optional(),
  purpose: prose(3, 500),
  what_if_digest: plainText(1, 128).optional(),
});
export type DelegationDraft = z.infer<typeof delegationDraft>;

export const whatIf = z.object({
  what_if_digest: z.string(),
  graph_version: z.number().int(),
  tools: z.object({ added: z.array(z.string()), kept: z.array(z.string()), removed: z.array(z.string()) }),
  audiences: z.object({ added: z.array(audience), removed: z.array(audience) }),
  tenant_ids: z.array(z.string()),
  columns_masked: z.record(z.string(), z.string()),
  step_up_tools: z.array(z.string()),
  warnings: z.array(z.object({ code: z.string(), message: z.string() })),
});
export type WhatIf = z.infer<typeof whatIf>;

export const createDelegation = endpoint("membership", "POST", BASE, {
  headers: { "Idempotency-Key": idempotencyKey },
  body: delegationDraft,
  reply: delegation,
  status: 201,
  ...withoutAgents({ scope: ["membership.delegate"], decision: "delegations/create" }),
  problems: [
    ...problems,
    "idempotency_key_required",
    "idempotency_conflict",
    "in_progress",
    ...draftProblems,
    "what_if_stale",
    "already_exists",
  ],
  summary: "Delegate to an agent: tools, budget, steps, end. Needs Idempotency-Key.",
});

export const listDelegations = endpoint("membership", "GET", BASE, {
  query: z.strictObject({
    user_id: nodeId.optional(),
    agent_id: nodeId.optional(),
    /** Only those that were handed on from this one, next below it. */
    parent_id: nodeId.optional(),
    status: delegationStatus.optional(),
    /** Over 80 % used, or ending within 7 days. */
    attention: z.enum(["true", "false"]).optional(),
    /** `own` = those that the caller gave. `all` adds those of others that the caller may view, each by a decision of its own. */
    whose: z.enum(["own", "all"]).default("own"),
    ...cursorPage,
  }),
  reply: z.object({ items: z.array(delegation), next_cursor: z.string().optional(), stream_seq: z.number().int().optional() }),
  ...withoutAgents({ scope: ["membership.delegate", "membership.read"], decision: "delegations/view_all" }),
  problems: [...problems, "invalid_cursor"],
  summary: "Delegations that the caller may see.",
});

const viewing = {
  params: id,
  ...withoutAgents({ scope: ["membership.delegate", "membership.read"], decision: "delegations/view" }),
  problems,
};

export const getDelegation = endpoint("membership", "GET", `${BASE}/{id}`, {
  ...viewing,
  reply: delegation,
  summary: "One delegation with its meter.",
});

/** Merge patch (RFC 7396): what is not named stays, at every depth; null ends a constraint, all of them, or those of one tool's arguments. */
export const delegationPatch = z.strictObject({
  capabilities: delegationDraft.shape.capabilities.optional(),
  constraints: z
    .strictObject({
      per_call_usd: delegationConstraints.shape.per_call_usd.nullable(),
      per_minute_steps: delegationConstraints.shape.per_minute_steps.nullable(),
      hours: hours.partial().nullish(),
      tenant_ids: delegationConstraints.shape.tenant_ids.nullable(),
      args: recordOf(toolId, anyMembers.nullable()).nullish(),
    })
    .nullish(),
  budget_usd: delegationDraft.shape.budget_usd.optional(),
  max_steps: delegationDraft.shape.max_steps.optional(),
  expires_at: delegationDraft.shape.expires_at,
  purpose: delegationDraft.shape.purpose.optional(),
  reason: reason.optional(),
});
export type DelegationPatch = z.infer<typeof delegationPatch>;

export const patchDelegation = endpoint("membership", "PATCH", `${BASE}/{id}`, {
  headers: { "If-Match": z.string().min(1) },
  params: id,
  body: delegationPatch,
  reply: delegation,
  ...withoutAgents({ scope: ["membership.delegate"], decision: "delegations/revoke" }),
  problems: [...problems, "delegation_ended", "if_match_required", "stale_version", "budget_in_use", ...draftProblems],
  summary:
    "Change its terms (merge patch). To widen any of them is to give it anew, which its giver alone may do: delegations/create. Needs If-Match.",
});

const stopped = delegation.extend({ graph_version: z.number().int(), running_calls: z.array(z.string()) });

const stopping = {
  params: id,
  body: z.strictObject({ reason }),
  reply: stopped,
  ...withoutAgents({ scope: ["membership.delegate"], decision: "delegations/revoke" }),
  problems: [...problems, "delegation_ended"] as const,
};

export const revokeDelegation = endpoint("membership", "POST", `${BASE}/{id}/revoke`, {
  ...stopping,
  summary: "End it for good. No call is reserved after this answers, on any node.",
});

export const pauseDelegation = endpoint("membership", "POST", `${BASE}/{id}/pause`, {
  ...stopping,
  summary: "Hold it.",
});

export const resumeDelegation = endpoint("membership", "POST", `${BASE}/{id}/resume`, {
  ...stopping,
  headers: { "If-Match": z.string().min(1) },
  ...withoutAgents({ scope: ["membership.delegate"], decision: "delegations/create" }),
  problems: ["agent_uncontrolled", ...problems, "delegation_ended", "if_match_required", "stale_version"],
  summary: "Let it go on. Needs If-Match.",
});

export const revokeMany = endpoint("membership", "POST", `${BASE}/revoke-many`, {
  headers: { "Idempotency-Key": idempotencyKey },
  body: z.strictObject({ agent_id: nodeId.optional(), delegator_id: nodeId.optional(), mode: z.enum(["pause", "revoke"]), reason }),
  reply: z.object({ delegations: z.array(z.string()), graph_version: z.number().int(), running_calls: z.array(z.string()) }),
  ...withoutAgents({ scope: ["membership.delegate"], decision: "delegations/revoke" }),
  problems: [...problems, "idempotency_key_required", "idempotency_conflict", "in_progress", "reply_withheld", "unprocessable"],
  summary: "Revoke or pause all that an agent holds from a delegator, in one version. Needs Idempotency-Key.",
});

export const whatIfDelegation = endpoint("membership", "POST", `${BASE}/what-if`, {
  body: delegationDraft.or(z.strictObject({ revoke: nodeId })).or(z.strictObject({ id: nodeId, patch: delegationPatch })),
  reply: whatIf,
  ...withoutAgents({ scope: ["membership.delegate"], decision: "delegations/create" }),
  problems: [...problems, "delegation_ended", "budget_in_use", ...draftProblems],
  summary: "What a delegation, a change of one or its end would add or take, by the enforcing code; nothing is written.",
});

export const delegationImpact = endpoint("membership", "GET", `${BASE}/{id}/impact`, {
  ...viewing,
  reply: z.object({
    tools_lost: z.array(z.object({ user_id: z.string(), agent_id: z.string(), tool_id: z.string() })),
    running_calls: z.array(z.object({ call_id: z.string(), tool_id: z.string(), since: timestamp })),
    children: z.array(z.string()),
  }),
  summary: "What ending it would take away.",
});

export const delegationUsage = endpoint("membership", "GET", `${BASE}/{id}/usage`, {
  ...viewing,
  query: z.strictObject({ from: timestamp.optional(), to: timestamp.optional() }),
  reply: z.object({
    by_tool: z.array(z.object({ tool_id: z.string(), calls: z.number().int(), steps: z.number().int(), usd })),
    series: z.array(z.object({ at: timestamp, steps: z.number().int(), usd })),
    open: z.array(reservationView),
  }),
  summary: "What it has used, by tool and over time.",
});

export const delegationHistory = endpoint("membership", "GET", `${BASE}/{id}/history`, {
  ...viewing,
  reply: z.object({
    items: z.array(
      z.object({
        version: z.number().int(),
        at: timestamp,
        actor: z.string(),
        source: z.string(),
        reason: z.string().optional(),
        before: z.unknown(),
        after: z.unknown(),
      }),
    ),
    /** Earlier changes are in the graph's log alone. */
    truncated: z.boolean(),
  }),
  summary: "Who changed it, when and why: the last 200 changes, oldest first.",
});
