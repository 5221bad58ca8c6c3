import { z } from "zod";
import { endpoint } from "./endpoint.ts";
import { timestamp } from "./ids.ts";
import { jsonMembers } from "./json-members.ts";

/** OpenID AuthZEN Authorization API 1.0, as the pdp and the gateway's facade speak it. */

const word = z.string().regex(/^[A-Za-z0-9._:/-]{1,128}$/, "must be 1-128 of A-Z a-z 0-9 . _ : / -");
const properties = jsonMembers;
/** Of a resource: what the records can hold. */
export const entityId = z
  .string()
  .min(1)
  .max(1024)
  .refine((id) => id.isWellFormed(), "holds half a surrogate pair");
/** Records are found by their subject: an entry of PostgreSQL's indexes takes 2,704 bytes, and one too long would fail the commit of all beside it. */
const SUBJECT_BYTES = 2048;
const encoder = new TextEncoder();
const subjectId = entityId.refine((id) => encoder.encode(id).byteLength <= SUBJECT_BYTES, `must be at most ${SUBJECT_BYTES} bytes`);

export const subject = z.object({ type: word, id: subjectId, properties: properties.optional() });
export const resource = z.object({ type: word, id: entityId.optional(), properties: properties.optional() });
export const action = z.object({ name: word, properties: properties.optional() });

/** What a policy enforcement point asks. `key` is read only by the gateway's session and self modes. */
export const evaluationRequest = z.object({
  subject: subject.optional(),
  action,
  resource,
  context: properties.optional(),
  key: z.string().min(1).max(256).optional(),
});

export const obligation = z.object({ id: z.string(), type: z.string(), properties: properties.optional() });
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
  context: properties.optional(),
  /** Items are read one by one: a wrong one is answered in its place. The object form is the gateway's alone. */
  evaluations: z.array(z.unknown()).or(z.record(z.string(), z.unknown())).optional(),
  options: z.looseObject({ evaluations_semantic: semantics.optional() }).optional(),
});

export const evaluationsReply = z.object({
  evaluations: z.array(evaluationReply).or(z.record(z.string(), evaluationReply)),
  results: z.record(z.string(), evaluationReply).optional(),
});
export type EvaluationsReply = z.infer<typeof evaluationsReply>;

export const evaluate = endpoint("pdp", "POST", "/access/v1/evaluation", {
  body: evaluationRequest,
  reply: evaluationReply,
  auth: "bearer",
  scope: ["authzen.pep"],
  problems: [
    "reserved_context_member",
    "rate_limited",
    "decision_not_recorded",
    "engine_failed",
    "membership_unavailable",
    "graph_unavailable",
    "pdp_unavailable",
    "pdp_bad_answer",
  ],
  summary: "Decide one request.",
});

export const evaluateMany = endpoint("pdp", "POST", "/access/v1/evaluations", {
  body: evaluationsRequest,
  reply: z.object({ evaluations: z.array(evaluationReply) }).or(evaluationReply),
  auth: "bearer",
  scope: ["authzen.pep"],
  problems: [
    "reserved_context_member",
    "too_many_evaluations",
    "rate_limited",
    "decision_not_recorded",
    "engine_failed",
    "membership_unavailable",
    "graph_unavailable",
    "pdp_unavailable",
    "pdp_bad_answer",
  ],
  summary: "Decide a batch, in order, with the standard's three semantics.",
});

// ---- searches ----

/** Where a page begins and how long it is. Of a search that goes on, the token says both. */
export const searchPage = z.object({ token: z.string().min(1).max(4096).optional(), limit: z.number().int().min(1).max(1000).optional() });

const given = { context: properties.optional(), page: searchPage.optional() };
/** The searched entity: its type alone. An id of it is not looked at. */
const searchedSubject = z.object({ type: word, properties: properties.optional() });
const searchedResource = z.object({ type: word });
const wholeResource = resource.extend({ id: entityId });

const pageReply = z.object({
  /** Empty: the end. */
  next_token: z.string(),
  /** Results of this page. */
  count: z.number().int(),
});
/** `page` is there when one was asked for, or when there is more. */
const entityResults = z.object({ results: z.array(z.object({ type: z.string(), id: z.string() })), page: pageReply.optional() });
const actionResults = z.object({ results: z.array(z.object({ name: z.string() })), page: pageReply.optional() });
export type SearchReply = z.infer<typeof entityResults> | z.infer<typeof actionResults>;

const searchProblems = [
  "invalid_page_token",
  "reserved_context_member",
  "rate_limited",
  "engine_failed",
  "membership_unavailable",
  "graph_unavailable",
  "not_supported",
] as const;

export const searchSubject = endpoint("pdp", "POST", "/access/v1/search/subject", {
  body: z.object({ subject: searchedSubject, action, resource: wholeResource, ...given }),
  reply: entityResults,
  auth: "bearer",
  scope: ["authzen.search"],
  problems: searchProblems,
  summary: "Who may do this to that, in byte order of ids.",
});

export const searchResource = endpoint("pdp", "POST", "/access/v1/search/resource", {
  body: z.object({ subject, action, resource: searchedResource, ...given }),
  reply: entityResults,
  auth: "bearer",
  scope: ["authzen.pep", "authzen.search"],
  problems: searchProblems,
  summary: "What a subject may do this to, in byte order of ids.",
});

export const searchAction = endpoint("pdp", "POST", "/access/v1/search/action", {
  body: z.object({ subject, resource: wholeResource, ...given }),
  reply: actionResults,
  auth: "bearer",
  scope: ["authzen.pep", "authzen.search"],
  problems: searchProblems,
  summary: "What a subject may do to a resource, in byte order of names.",
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

// ---- explanations ----

export const checkOutcome = z.enum(["pass", "fail", "skipped", "depends"]);
export const decisionCheck = z.object({
  name: z.enum(["subject", "delegation", "capability", "chain", "steps", "budget", "step-up", "policy", "data-scope"]),
  outcome: checkOutcome,
  input: z.string().optional(),
  /** The line of the policy that asks for it, for who may see policies; absent where none does, or it was not looked at. */
  source: z.object({ file: z.string(), line: z.number().optional() }).optional(),
});

/** One edge of the graph path that was looked for: there, or missing. */
export const decisionEdge = z.object({
  kind: z.string(),
  from: z.string(),
  to: z.string(),
  id: z.string().optional(),
  present: z.boolean(),
});

export const decidingPolicy = z.object({
  id: z.string(),
  description: z.string(),
  /** False: it did not decide, but would have permitted with the first remedy. */
  decided: z.boolean(),
  effect: z.enum(["permit", "forbid"]).optional(),
  text: z.string().optional(),
  file: z.string().optional(),
  line: z.number().optional(),
});

export const remedyStep = z.object({
  kind: z.enum(["sign_in_again", "approval", "reactivate_edge", "raise_limit", "reapprove_definition", "add_edge"]),
  edge: z.object({ kind: z.string(), from: z.string(), to: z.string() }).optional(),
  context: z.record(z.string(), z.unknown()).optional(),
  text: z.string(),
  who_can: z.array(z.string()),
});

export const remedy = z.object({
  complete: z.boolean(),
  changes: z.array(z.object({ steps: z.array(remedyStep), cost: z.number(), also_allows: z.number(), sample: z.array(z.string()) })),
  blocked_by: z.array(z.string()),
});
export type Remedy = z.infer<typeof remedy>;

/** What a viewer gets: the coarse members always, the others as their rights allow. */
/** What a version of the policies in shadow made of a decision, after the answer had left. Obligations and policies by id. */
export const shadowDecision = z.object({
  policy_version: z.string(),
  decision: z.boolean(),
  reason: z.string().optional(),
  obligations: z.array(z.string()),
  policies: z.array(z.string()),
});
export type ShadowDecision = z.infer<typeof shadowDecision>;

export const decisionRecord = z.object({
  decision_id: z.string(),
  decided_at: timestamp,
  decision: z.boolean(),
  reason: z.string().optional(),
  sentence: z.string(),
  /** Only for services of the house, and in lists over all tenants. */
  tenant: z.string().optional(),
  subject: z.object({ id: z.string(), name: z.string().optional() }).optional(),
  agent: z.object({ id: z.string(), name: z.string().optional() }).optional(),
  action: z.string(),
  /** A secret has no id here, only its reference. */
  resource: z.object({ type: z.string(), id: z.string().optional(), ref: z.string().optional() }),
  requestable: z.boolean(),
  correlation_id: z.string().optional(),
  policy_version: z.string().optional(),
  graph_version: z.number().optional(),
  pep: z.string().optional(),
  latency_ms: z.number().optional(),
  checks: z.array(decisionCheck).optional(),
  edges: z.array(decisionEdge).optional(),
  policies: z.array(decidingPolicy).optional(),
  obligations: z.array(obligation).optional(),
  errors: z.array(z.string()).optional(),
  facts: z.unknown().optional(),
  /** Circumstances that were put before the policies beside the facts. */
  inputs: z.record(z.string(), z.unknown()).optional(),
  cached: z.boolean().optional(),
  /** Absent where no version was in shadow, or it was not asked; there within about a second of the decision. */
  shadow: shadowDecision.optional(),
  /** What the same question is answered now, with the graph as it is. */
  now: z.object({ decision: z.boolean(), reason: z.string().optional() }).optional(),
  remedy: remedy.optional(),
});
export type DecisionRecord = z.infer<typeof decisionRecord>;

export const getDecision = endpoint("pdp", "GET", "/access/v1/decisions/{id}", {
  params: z.object({ id: z.string() }),
  query: z.strictObject({ remedy: z.enum(["true", "false"]).optional() }),
  reply: decisionRecord,
  auth: "bearer",
  problems: ["not_found"],
  summary: "Why a decision fell as it did, as far as the viewer may know, and the smallest change that would allow it.",
});

export const listDecisions = endpoint("pdp", "GET", "/access/v1/decisions", {
  query: z.strictObject({
    subject: z.string().optional(),
    agent: z.string().optional(),
    action: z.string().optional(),
    resource_type: z.string().optional(),
    decision: z.enum(["true", "false"]).optional(),
    reason: z.string().optional(),
    correlation_id: z.string().optional(),
    from: timestamp.optional(),
    to: timestamp.optional(),
    limit: z.coerce.number().int().min(1).max(500).default(50),
    cursor: z.string().optional(),
  }),
  reply: z.object({ decisions: z.array(decisionRecord), nextCursor: z.string().optional() }),
  auth: "bearer",
  decision: "decisions/view_all",
  problems: ["invalid_cursor"],
  summary: "Decisions, newest first: one's own, or all of the tenant for who may see them.",
});
