import { z } from "zod";
import { endpoint, withoutAgents } from "./endpoint.ts";
import { plainText, timestamp } from "./ids.ts";
import { jsonMembers } from "./json-members.ts";

/** OpenID AuthZEN Authorization API 1.0, as the pdp and the gateway's facade speak it. */

/** A type or the name of an action. */
export const word = z.string().regex(/^[A-Za-z0-9._:/-]{1,128}$/, "must be 1-128 of A-Z a-z 0-9 . _ : / -");
/** Of a resource: what the records can hold. */
export const entityId = plainText(1, 1024);
/** Records are found by their subject: an entry of PostgreSQL's indexes takes 2,704 bytes, and one too long would fail the commit of all beside it. */
const SUBJECT_BYTES = 2048;
const encoder = new TextEncoder();
const subjectId = entityId.refine((id) => encoder.encode(id).byteLength <= SUBJECT_BYTES, `must be at most ${SUBJECT_BYTES} bytes`);

export const subject = z.object({ type: word, id: subjectId, properties: jsonMembers.optional() });
export const resource = z.object({ type: word, id: entityId.optional(), properties: jsonMembers.optional() });
export const action = z.object({ name: word, properties: jsonMembers.optional() });

/** What a policy enforcement point asks. Members that the standard does not know are not looked at: a `key` means something to the gateway's session and self modes alone. */
export const evaluationRequest = z.object({
  subject,
  action,
  resource: resource.required({ id: true }),
  context: jsonMembers.optional(),
});

export const obligation = z.object({ id: z.string(), type: z.string(), properties: jsonMembers.optional() });
export type Obligation = z.infer<typeof obligation>;

/** Closed, coarse reasons of a denial. */
export const reasons = [
  "subject_unresolved",
  "resource_unresolved",
  "resource_id_required",
  "unknown_action",
  "forbidden",
  "delegation_required",
  "delegation_inactive",
  "capability_missing",
  "chain_not_eligible",
  "steps_exhausted",
  "budget_exhausted",
  "definition_drifted",
  "step_up_required",
  "approval_required",
  "approval_invalid",
  "obligation_unsupported",
  "not_granted",
  "not_evaluated",
] as const;
export type Reason = (typeof reasons)[number];

export const decisionContext = z.looseObject({
  decision_id: z.string().optional(),
  reason: z.string().optional(),
  obligations: z.array(obligation).optional(),
  evaluation_id: z.string().optional(),
  /** To services of Sallyport, of a question about an endpoint of the tool protocol: the same word, the same policies and the same graph. */
  moment: z.string().optional(),
  /** To services of Sallyport, of a question about a secret: the policies that decided. */
  policy_version: z.string().optional(),
  evaluated_at: timestamp.optional(),
  /** Only where an approval would lift the denial: how to ask for one (`access-requests.ts`). */
  access_request: z
    .looseObject({
      template: z.string(),
      expires_at: timestamp,
      binding_token: z.string(),
      display: z.looseObject({ title: z.string(), message: z.string() }),
    })
    .optional(),
  error: z.object({ status: z.number(), message: z.string() }).optional(),
});

export const evaluationReply = z.object({ decision: z.boolean(), context: decisionContext.optional(), key: z.string().optional() });
export type EvaluationReply = z.infer<typeof evaluationReply>;

export const semantics = z.enum(["execute_all", "deny_on_first_deny", "permit_on_first_permit"]);

export const evaluationsRequest = z.object({
  subject: subject.optional(),
  action: action.optional(),
  resource: resource.optional(),
  context: jsonMembers.optional(),
  /** Items are read one by one: a wrong one is answered in its place. */
  evaluations: z.array(z.unknown()).optional(),
  options: z.looseObject({ evaluations_semantic: semantics.optional() }).optional(),
});

export const evaluate = endpoint("pdp", "POST", "/access/v1/evaluation", {
  body: evaluationRequest,
  reply: evaluationReply,
  ...withoutAgents({ scope: ["authzen.pep"] }),
  problems: ["reserved_context_member"],
  summary: "Decide one request.",
});

export const evaluateMany = endpoint("pdp", "POST", "/access/v1/evaluations", {
  body: evaluationsRequest,
  // 1,000 evaluations, each with all that Sallyport says of one.
  maxMembers: 25_000,
  reply: z.object({ evaluations: z.array(evaluationReply) }).or(evaluationReply),
  ...withoutAgents({ scope: ["authzen.pep"] }),
  problems: ["reserved_context_member", "too_many_evaluations"],
  summary: "Decide a batch, in order, with the standard's three semantics.",
});

export const metadata = endpoint("pdp", "GET", "/.well-known/authzen-configuration", {
  reply: z.looseObject({
    policy_decision_point: z.string(),
    access_evaluation_endpoint: z.string(),
    access_evaluations_endpoint: z.string(),
    search_subject_endpoint: z.string().optional(),
    search_resource_endpoint: z.string().optional(),
    search_action_endpoint: z.string().optional(),
    access_request_endpoint: z.string().optional(),
    supported_obligations: z.array(z.looseObject({ id: z.string(), type: z.string() })).optional(),
    capabilities: z.array(z.string()).optional(),
    /** The same as a JWT, signed with ES256; what it says goes before what stands beside it. */
    signed_metadata: z.string().optional(),
    /** Where the key of `signed_metadata` is. */
    jwks_uri: z.string().optional(),
  }),
  auth: "none",
  summary: "Where the decision point's endpoints are.",
});

export const metadataKeys = endpoint("pdp", "GET", "/.well-known/jwks.json", {
  reply: z.object({ keys: z.array(z.record(z.string(), z.unknown())) }),
  auth: "none",
  summary: "The public key of the signed metadata.",
});
