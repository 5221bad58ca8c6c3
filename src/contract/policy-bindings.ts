import { z } from "zod";
import { endpoint, withoutAgents } from "./endpoint.ts";
import { reason, removal } from "./graph-edit.ts";
import { idempotencyKey, nodeId, plainText, skipPage, skippedPage } from "./ids.ts";
import { anyMembers } from "./json-members.ts";

/** Policies bound to services, tools, resources and prompts: a policy may ask which are bound to what is called. */

const BINDINGS = "/api/v1/policy-bindings";
const action = z.literal("tools/call");
const terms = {
  /** Low first. */
  priority: z.number().int().min(0).max(1000).default(100),
  enabled: z.boolean().default(true),
  params: anyMembers.refine((held) => JSON.stringify(held).length <= 4096, "is longer than 4 KiB").optional(),
};
export const policyBinding = z.object({
  id: z.string(),
  target_id: z.string(),
  policy_id: z.string(),
  action,
  priority: z.number().int(),
  enabled: z.boolean(),
  params: z.record(z.string(), z.unknown()).optional(),
});
export type PolicyBinding = z.output<typeof policyBinding>;

const reading = withoutAgents({ scope: ["membership.read"], decision: "registry/view" });
const editing = withoutAgents({ scope: ["membership.registry"], decision: "policybindings/edit" });
const one = z.object({ binding_id: plainText(1, 1024) });
const matching = { "If-Match": z.string().min(1) };

export const createPolicyBinding = endpoint("membership", "POST", BINDINGS, {
  headers: { "Idempotency-Key": idempotencyKey },
  body: z.strictObject({ target_id: nodeId, policy_id: nodeId, action: action.default("tools/call"), ...terms, reason }),
  reply: policyBinding,
  status: 201,
  ...editing,
  problems: [
    "not_found",
    "already_exists",
    "unprocessable",
    "edge_not_allowed",
    "cross_tenant",
    "access_denied",
    "idempotency_key_required",
    "idempotency_conflict",
    "in_progress",
  ],
  summary: "Bind a policy to a service, tool, resource or prompt; once for each action. Needs Idempotency-Key.",
});

export const listPolicyBindings = endpoint("membership", "GET", BINDINGS, {
  query: z.strictObject({
    target_id: nodeId.optional(),
    policy_id: nodeId.optional(),
    action: action.optional(),
    /** Of a tool: what takes part when it is called, its service's bindings among it. */
    effective: z.enum(["true", "false"]).default("false"),
    ...skipPage,
  }),
  reply: z.object({ items: z.array(policyBinding), ...skippedPage }),
  ...reading,
  summary: "Bindings of the tenant, by priority.",
});

export const getPolicyBinding = endpoint("membership", "GET", `${BINDINGS}/{binding_id}`, {
  params: one,
  reply: policyBinding,
  ...reading,
  problems: ["not_found"],
  summary: "One binding.",
});

export const putPolicyBinding = endpoint("membership", "PUT", `${BINDINGS}/{binding_id}`, {
  params: one,
  headers: matching,
  body: z.strictObject({ ...terms, reason }),
  reply: policyBinding,
  ...editing,
  problems: ["not_found", "unprocessable", "access_denied", "if_match_required", "stale_version"],
  summary: "Change how a binding takes part; what it binds stays. Needs If-Match.",
});

export const deletePolicyBinding = endpoint("membership", "DELETE", `${BINDINGS}/{binding_id}`, {
  params: one,
  headers: matching,
  ...removal,
  ...editing,
  problems: ["not_found", "access_denied", "if_match_required", "stale_version"],
  summary: "Take a binding away. Needs If-Match.",
});
