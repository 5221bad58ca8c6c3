import { z } from "zod";
import { action, entityId, resource, subject } from "./authzen.ts";
import { endpoint, withoutAgents } from "./endpoint.ts";
import { cursorPage, idempotencyKey, plainText, prose, timestamp } from "./ids.ts";
import { jsonMembers } from "./json-members.ts";

/**
 * From a denial to an approval (AuthZEN Access Request and Approval Profile, one item each): whoever was denied asks with the
 * denial's own binding, somebody else answers, and the same question asked again is decided with the approval in force.
 */

const BASE = "/access/v1/requests";
const id = z.object({ id: plainText(1, 64) });

/** The most of a call, as JSON, that a second person is shown. What cannot be shown whole cannot be asked for. */
export const MAX_SHOWN_BYTES = 8_192;

/**
 * What would be done, as who answers is shown it. The binding of the request covers it: an approval holds only for a call that
 * would be shown in exactly these words.
 */
export const shownCall = z.object({
  /** Absent where no tool is called: then the arguments are what the question came with. */
  tool: z.object({ name: z.string(), title: z.string().optional() }).optional(),
  /** The most that it costs. */
  cost_usd: z.number().nonnegative().optional(),
  /** An object, as it was sent; `[hidden]` where `masked` says so. */
  arguments: z.unknown(),
  /** RFC 6901 pointers into `arguments` of what is hidden: passwords, tokens, names of secrets. */
  masked: z.array(z.string()),
});
export type ShownCall = z.infer<typeof shownCall>;

/** What a denial that an approval would lift carries in its context. */
export const accessRequestOffer = z.object({
  /** Who would answer and for how long: a row of the policies' `templates.yaml`. */
  template: z.string(),
  /** Ask before; then ask the question again. */
  expires_at: timestamp,
  /** Opaque; goes back unchanged. */
  binding_token: z.string(),
  display: z.object({ title: z.string(), message: z.string() }),
});
export type AccessRequestOffer = z.infer<typeof accessRequestOffer>;

/** Each is final but `pending`. `failed`: nobody could answer it, or what it was bound to is no more. */
export const accessRequestStatus = z.enum(["pending", "approved", "denied", "expired", "cancelled", "failed"]);
export type AccessRequestStatus = z.infer<typeof accessRequestStatus>;

const someone = z.object({ id: z.string(), name: z.string().optional() });

export const accessRequestTask = z.object({
  id: z.string(),
  status: accessRequestStatus,
  /** Path of this task, here and at the gateway. */
  status_endpoint: z.string(),
  /** An answer must come before. */
  expires_at: timestamp,
  display: z.object({ title: z.string(), message: z.string() }),
  /** Only those that the reader may use now. POST to `cancel`; POST an answer to `review`. */
  links: z.object({ cancel: z.string().optional(), review: z.string().optional() }),
  created_at: timestamp,
  /** The decision that it was asked for: explained at `/access/v1/decisions/{id}`. */
  evaluation_id: z.string(),
  template: z.string(),
  subject: someone,
  agent: someone.optional(),
  action: z.object({ name: z.string() }),
  /** A secret has no id here, only its reference. */
  resource: z.object({ type: z.string(), id: z.string().optional(), ref: z.string().optional() }),
  justification: z.string().optional(),
  /** Where one request is read, for who asked and who may answer; nobody else, and no list, has it. */
  call: shownCall.optional(),
  /** Ids of persons and groups of whom one answers; to who asks, a person is `someone`. */
  approvers: z.array(z.string()),
  answered_at: timestamp.optional(),
  answered_by: someone.optional(),
  comment: z.string().optional(),
  /** Of `failed`: `no_approver`, `policies_changed`, `revoked`. */
  failure: z.string().optional(),
});
export type AccessRequestTask = z.infer<typeof accessRequestTask>;

/** What an approval is now; only `live` permits anything. */
export const approvalState = z.enum(["live", "used", "expired", "voided"]);

export const accessRequestResult = z.object({
  /** Ask the same question again: the decision point finds the approval by itself. */
  mode: z.literal("reevaluate"),
  approval: z.object({
    id: z.string(),
    approved_at: timestamp,
    approved_until: timestamp,
    state: approvalState,
    single_use: z.boolean(),
    /** Of `voided`: `policies_changed`, `definition_changed`, `revoked`. */
    reason: z.string().optional(),
  }),
});

export const accessRequestReply = z.object({ task: accessRequestTask, result: accessRequestResult.optional() });
export type AccessRequestReply = z.infer<typeof accessRequestReply>;

export const accessRequestDraft = z.object({
  subject,
  resource: resource.extend({ id: entityId }),
  action,
  context: jsonMembers.optional(),
  /** As the denial said them. */
  denial: z.object({ evaluation_id: plainText(1, 64), expires_at: timestamp, binding_token: plainText(1, 32_768) }),
  /** For whoever answers. */
  justification: prose(1, 1000).optional(),
});
export type AccessRequestDraft = z.infer<typeof accessRequestDraft>;

export const createAccessRequest = endpoint("pdp", "POST", BASE, {
  headers: { "Idempotency-Key": idempotencyKey },
  body: accessRequestDraft,
  reply: accessRequestReply,
  status: 202,
  ...withoutAgents(),
  problems: ["idempotency_key_required", "invalid_denial_binding", "duplicate_request", "too_many", "access_denied"],
  summary: "Ask that a denial be lifted. Needs Idempotency-Key; the same key with the same body is the same task.",
});

export const listAccessRequests = endpoint("pdp", "GET", BASE, {
  query: z.strictObject({
    /** Those that the caller asked for or is the subject of, or those that the caller may answer or has answered. */
    as: z.enum(["requester", "approver"]).default("requester"),
    status: accessRequestStatus.optional(),
    ...cursorPage,
  }),
  reply: z.object({ requests: z.array(accessRequestTask), nextCursor: z.string().optional() }),
  auth: "bearer",
  agents: "own",
  problems: ["invalid_cursor"],
  summary: "Access requests, newest first: one's own, or those to answer.",
});

export const getAccessRequest = endpoint("pdp", "GET", `${BASE}/{id}`, {
  params: id,
  reply: accessRequestReply,
  auth: "bearer",
  agents: "own",
  decision: "decisions/view_all",
  problems: ["unknown_task", "step_up_required"],
  summary: "One access request, for its requester, subject, approvers, and whoever may see all decisions.",
});

export const cancelAccessRequest = endpoint("pdp", "POST", `${BASE}/{id}/cancel`, {
  params: id,
  reply: accessRequestReply,
  ...withoutAgents(),
  problems: ["unknown_task", "invalid_task_state", "access_denied", "step_up_required"],
  summary: "Take a pending request back.",
});

export const answerAccessRequest = endpoint("pdp", "POST", `${BASE}/{id}/answer`, {
  params: id,
  body: z.strictObject({ outcome: z.enum(["approve", "deny"]), comment: prose(1, 1000).optional() }),
  reply: accessRequestReply,
  ...withoutAgents(),
  problems: ["unknown_task", "task_expired", "invalid_task_state", "access_denied", "step_up_required"],
  summary: "Approve or deny a pending request, as one of its approvers; nobody answers a request of their own.",
});
