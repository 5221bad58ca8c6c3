import { z } from "zod";
import { reasons } from "./authzen.ts";
import { endpoint } from "./endpoint.ts";
import { plainText, timestamp } from "./ids.ts";

/**
 * Policies as governed versions: what decides, what is drafted, what a draft would change, and how a version comes to decide
 * and is taken back. A person needs the pair `policies/view`, `policies/edit` or `policies/activate`; a service the scope
 * `pdp.policies.read`, `.write` or `.activate`.
 */

export const rolloutState = z.enum(["draft", "shadow", "active", "retired"]);
export type RolloutState = z.infer<typeof rolloutState>;

/** `v<number>+<first 12 hexadecimal digits of the digest>`; in a path `v<number>` alone is understood too. */
export const policyVersion = z.string().regex(/^v[1-9][0-9]{0,8}(?:\+[0-9a-f]{12})?$/, "must be a version such as v3+1a2b3c4d5e6f");

/** Path inside the bundle, e.g. `policies/pages.cedar`, `policies/cases/pages.yaml`. */
const filePath = z.string().regex(/^policies\/(?:cases\/)?[a-z0-9][a-z0-9_-]{0,63}\.(?:cedar|cedarschema|yaml)$/, {
  message: "must be policies/<name>.cedar, .cedarschema or .yaml, or policies/cases/<name>.yaml",
});
const fileText = z.string().max(262_144);
/** Texts by path; what is not named stays as it is in `from_version`, `null` removes a file. */
export const policyFileChanges = z.record(filePath, fileText.nullable());
export const policyFiles = z.record(z.string(), z.string());

export const policyFault = z.object({
  path: z.string(),
  message: z.string(),
  code: z.string().optional(),
  file: z.string().optional(),
  /** From 1. */
  line: z.number().int().optional(),
  column: z.number().int().optional(),
  policy_id: z.string().optional(),
  hint: z.string().optional(),
});

const outcome = z.record(z.string(), z.unknown());
export const caseResults = z.object({
  passed: z.number().int(),
  failed: z.array(z.object({ name: z.string(), file: z.string().optional(), expected: outcome, got: outcome })),
});
export type CaseResults = z.infer<typeof caseResults>;

/** `valid`: no errors and nothing that lint refuses. Cases are run only of what is valid. */
export const policyReport = z.object({
  valid: z.boolean(),
  errors: z.array(policyFault),
  warnings: z.array(policyFault),
  lint: z.array(policyFault),
  cases: caseResults,
});
export type PolicyReport = z.infer<typeof policyReport>;

/** Where a policy stands: in the version that decides; changed or new in the one in shadow; changed or new in the newest draft. */
export const policyStatus = z.enum(["active", "shadow", "draft"]);
export const policyRow = z.object({
  id: z.string(),
  file: z.string(),
  line: z.number().int(),
  effect: z.enum(["permit", "forbid"]),
  description: z.string(),
  status: policyStatus,
  version: z.string(),
});

export const rollout = z.object({
  version: z.string(),
  state: rolloutState,
  digest: z.string(),
  message: z.string(),
  created_by: z.string(),
  created_at: timestamp,
  activated_at: timestamp.optional(),
});
export type Rollout = z.infer<typeof rollout>;

/** One changed cell of the matrix. Cells: Y allowed, S after a strong sign-in, R after an approval, - denied. */
export const matrixChange = z.object({
  row: z.string(),
  column: z.string(),
  before: z.string(),
  after: z.string(),
  /** Policies that decide the cell in the new version. */
  policies: z.array(z.string()),
});
export const matrixDifference = z.object({
  version: z.string(),
  against: z.string(),
  /** To be named by who activates: it says that this difference was seen. */
  digest: z.string(),
  changed: z.array(matrixChange),
});
export type MatrixDifference = z.infer<typeof matrixDifference>;

const side = z.object({
  decision: z.boolean(),
  reason: z.string().optional(),
  obligations: z.array(z.string()),
  policies: z.array(z.string()),
});
/** Decisions that differ in the same way. */
export const differenceClass = z.object({
  resource_type: z.string(),
  action: z.string(),
  active: side,
  other: side,
  count: z.number().int(),
  first_seen: timestamp,
  last_seen: timestamp,
  /** Who and what it was, for who may see all decisions; a secret has no id here. */
  sample: z
    .array(
      z.object({
        decision_id: z.string().optional(),
        subject: z.string(),
        agent: z.string().optional(),
        resource_id: z.string().optional(),
      }),
    )
    .optional(),
});
export type DifferenceClass = z.infer<typeof differenceClass>;

const version = z.object({ version: policyVersion });
const view = { auth: "bearer", decision: "policies/view" } as const;
const edit = { auth: "bearer", decision: "policies/edit" } as const;
const activate = { auth: "bearer", decision: "policies/activate" } as const;
const refused = ["access_denied", "insufficient_scope", "not_supported", "pdp_unavailable"] as const;
const POLICIES = "/access/v1/policies";

export const policySchema = endpoint("pdp", "GET", `${POLICIES}/schema`, {
  reply: z.object({
    version: z.string(),
    cedar: z.string(),
    actions: z.array(z.object({ action: z.string(), resource_type: z.string(), name: z.string(), groups: z.array(z.string()) })),
  }),
  ...view,
  problems: refused,
  summary: "The Cedar schema in force and the actions that can be asked.",
});

export const validatePolicies = endpoint("pdp", "POST", `${POLICIES}/validate`, {
  body: z.strictObject({
    /** Texts instead of those of the version that decides, or of `version`. */
    files: policyFileChanges.optional(),
    version: policyVersion.optional(),
  }),
  reply: policyReport,
  ...view,
  problems: [...refused, "not_found"],
  summary: "Parse, validate and lint policies and run their cases; nothing is stored.",
});

export const testPolicies = endpoint("pdp", "POST", `${POLICIES}/test`, {
  body: z.strictObject({
    files: policyFileChanges.optional(),
    version: policyVersion.optional(),
    /** Cases in the form of `policies/cases/*.yaml`; those of the bundle unless given. */
    cases: z.array(z.unknown()).max(1000).optional(),
  }),
  reply: caseResults,
  ...view,
  problems: [...refused, "not_found", "policy_invalid"],
  summary: "Run cases on policies; nothing is stored.",
});

export const startReplay = endpoint("pdp", "POST", `${POLICIES}/replay`, {
  body: z.strictObject({
    version: policyVersion,
    filter: z
      .strictObject({
        from: timestamp.optional(),
        to: timestamp.optional(),
        subject: plainText(1, 256).optional(),
        action: plainText(1, 128).optional(),
        decision: z.boolean().optional(),
      })
      .default({}),
    /** The newest so many decisions. */
    limit: z.number().int().min(1).max(1_000_000).default(10_000),
  }),
  reply: z.object({ replay_id: z.string() }),
  status: 202,
  ...edit,
  problems: [...refused, "not_found", "policy_invalid", "too_many"],
  summary: "Decide recorded decisions of the tenant again by another version, in the background.",
});

export const replayState = z.enum(["running", "done", "stopped", "failed"]);
export const readReplay = endpoint("pdp", "GET", `${POLICIES}/replay/{id}`, {
  params: z.object({ id: z.string() }),
  reply: z.object({
    replay_id: z.string(),
    version: z.string(),
    state: replayState,
    evaluated: z.number().int(),
    unchanged: z.number().int(),
    newly_allowed: z.number().int(),
    newly_denied: z.number().int(),
    /** Denied or permitted as before, but for another reason or with other obligations. */
    changed: z.number().int(),
    not_replayable: z.number().int(),
    classes: z.array(differenceClass),
    /** More kinds of difference were found than are kept. */
    truncated: z.boolean(),
  }),
  ...view,
  problems: [...refused, "not_found"],
  summary: "How far a replay is, and only what differs.",
});

export const stopReplay = endpoint("pdp", "DELETE", `${POLICIES}/replay/{id}`, {
  params: z.object({ id: z.string() }),
  reply: z.undefined(),
  status: 204,
  ...edit,
  problems: [...refused, "not_found"],
  summary: "Stop a replay; what it found so far stays readable.",
});

export const listRollouts = endpoint("pdp", "GET", `${POLICIES}/rollouts`, {
  query: z.strictObject({
    state: rolloutState.optional(),
    limit: z.coerce.number().int().min(1).max(200).default(50),
    cursor: z.string().max(1024).optional(),
  }),
  reply: z.object({ rollouts: z.array(rollout), nextCursor: z.string().optional() }),
  ...view,
  problems: [...refused, "invalid_cursor"],
  summary: "Versions, newest first. The ETag names the state of the rollout, for If-Match.",
});

export const createRollout = endpoint("pdp", "POST", `${POLICIES}/rollouts`, {
  body: z.strictObject({
    /** Whose files are changed; the version that decides unless given. */
    from_version: policyVersion.optional(),
    files: policyFileChanges,
    message: plainText(1, 500),
  }),
  reply: z.object({ rollout, report: policyReport }),
  status: 201,
  ...edit,
  problems: [...refused, "not_found", "already_exists", "too_large", "stale_version"],
  summary: "Store a draft with its report; it may be faulty, and decides nothing.",
});

export const readRollout = endpoint("pdp", "GET", `${POLICIES}/rollouts/{version}`, {
  params: version,
  reply: rollout.extend({ files: policyFiles, report: policyReport }),
  ...view,
  problems: [...refused, "not_found"],
  summary: "A version with its files and its report.",
});

export const deleteRollout = endpoint("pdp", "DELETE", `${POLICIES}/rollouts/{version}`, {
  params: version,
  reply: z.undefined(),
  status: 204,
  ...edit,
  problems: [...refused, "not_found", "not_a_draft", "stale_version"],
  summary: "Drop a draft.",
});

export const rolloutMatrix = endpoint("pdp", "GET", `${POLICIES}/rollouts/{version}/matrix`, {
  params: version,
  /** `active`, or another version. */
  query: z.strictObject({ against: z.literal("active").or(policyVersion).default("active") }),
  reply: matrixDifference,
  ...view,
  problems: [...refused, "not_found", "policy_invalid"],
  summary: "Cells of the matrix that a version changes.",
});

export const rolloutDifferences = endpoint("pdp", "GET", `${POLICIES}/rollouts/{version}/differences`, {
  params: version,
  reply: z.object({
    version: z.string(),
    /** Decisions that the version was asked beside the active one, of all tenants. */
    evaluated: z.number().int(),
    dropped: z.number().int(),
    different: z.number().int(),
    /** Of the caller's tenant. */
    classes: z.array(differenceClass),
  }),
  ...view,
  problems: [...refused, "not_found"],
  summary: "What a version in shadow decided differently from the active one.",
});

export const promoteRollout = endpoint("pdp", "POST", `${POLICIES}/rollouts/{version}/promote`, {
  params: version,
  body: z.strictObject({
    /** `draft` takes a version out of the shadow. */
    to: z.enum(["draft", "shadow", "active"]),
    /** Digest of the matrix difference that was shown; needed for `active`. */
    acknowledged_diff: z.string().max(128).optional(),
  }),
  reply: rollout,
  ...activate,
  problems: [...refused, "not_found", "conflict", "policy_invalid", "cases_failed", "matrix_not_acknowledged", "stale_version"],
  summary: "Let a version decide in the shadow, or decide.",
});

export const rollBack = endpoint("pdp", "POST", `${POLICIES}/rollouts/{version}/rollback`, {
  params: z.object({ version: policyVersion.or(z.literal("last")) }),
  body: z.strictObject({ message: plainText(1, 500).optional() }).optional(),
  reply: rollout,
  ...activate,
  problems: [...refused, "not_found", "conflict", "policy_invalid", "stale_version"],
  summary: "Let a retired version decide again, at once; `last` is the one that decided before.",
});

export const listPolicies = endpoint("pdp", "GET", POLICIES, {
  query: z.strictObject({ status: policyStatus.optional() }),
  reply: z.object({ version: z.string(), policies: z.array(policyRow) }),
  ...view,
  problems: refused,
  summary: "Policies that decide, and those that differ in the shadow or in the newest draft.",
});

export const readPolicy = endpoint("pdp", "GET", `${POLICIES}/{id}`, {
  params: z.object({ id: z.string() }),
  query: z.strictObject({ version: policyVersion.optional() }),
  reply: policyRow.omit({ status: true }).extend({
    text: z.string(),
    obligations: z.array(z.string()),
    advice: z.array(z.string()),
    reason: z.string().optional(),
    requestable: z.string().optional(),
  }),
  ...view,
  problems: [...refused, "not_found"],
  summary: "One policy with its text; the ETag is the text's digest.",
});

// ---- one decision again, and what a change would do ----

const ruled = z.object({
  policy_version: z.string(),
  decision: z.boolean(),
  reason: z.enum(reasons).optional(),
  obligations: z.array(z.string()),
  policies: z.array(z.string()),
});

export const replayDecision = endpoint("pdp", "POST", "/access/v1/decisions/{id}/replay", {
  params: z.object({ id: z.string() }),
  body: z.strictObject({ version: policyVersion.optional() }).optional(),
  reply: z.object({
    decision_id: z.string(),
    /** As it was recorded. */
    // oxlint-disable-next-line unicorn/no-thenable -- a record, never a function: awaiting the reply stays safe
    then: ruled,
    /** On the recorded facts, by the version asked for, the active one unless given. */
    now: ruled,
    changed: z.array(z.enum(["decision", "reason", "obligations", "policies"])),
  }),
  auth: "bearer",
  decision: "decisions/explain",
  problems: ["not_found", "access_denied", "not_replayable", "not_supported"],
  summary: "Decide a recorded decision again on the facts it had.",
});

const graphEdge = z.strictObject({
  kind: z.string().regex(/^[A-Z][A-Z_]{1,31}$/),
  from: plainText(1, 256),
  to: plainText(1, 256),
  props: z.record(z.string(), z.unknown()).optional(),
});
const reached = z.object({
  action: z.string(),
  resource: z.object({ type: z.string(), id: z.string().optional() }),
  via: z.array(z.string()),
});
const audience = z.object({ audience: z.string(), scopes: z.array(z.string()) });

export const whatIf = endpoint("pdp", "POST", "/access/v1/what-if", {
  body: z.strictObject({
    subject_id: plainText(1, 256),
    agent_id: plainText(1, 256).optional(),
    changes: z
      .strictObject({
        edges: z
          .strictObject({
            add: z.array(graphEdge).max(50).default([]),
            remove: z
              .array(graphEdge.omit({ props: true }))
              .max(50)
              .default([]),
          })
          .optional(),
        /** Circumstances taken as given, e.g. a fresh strong sign-in. */
        facts: z.strictObject({ mfa: z.boolean().optional(), approved: z.boolean().optional() }).optional(),
      })
      .default({}),
    /** By which policies it is asked after the change; the active ones unless given. */
    version: policyVersion.optional(),
    /** `<type>/<action>`; all unless given. */
    actions: z.array(plainText(1, 256)).max(200).optional(),
    /** Things beside the whole collections that are asked about. */
    resources: z
      .array(z.strictObject({ type: plainText(1, 128), id: plainText(1, 1024) }))
      .max(1000)
      .optional(),
  }),
  reply: z.object({
    policy_version: z.string(),
    graph_version: z.number().int(),
    gained: z.array(reached),
    lost: z.array(reached),
    audiences: z.object({ gained: z.array(audience), lost: z.array(audience) }),
    truncated: z.boolean(),
  }),
  auth: "bearer",
  decision: "decisions/view_all",
  problems: [
    ...refused,
    "not_found",
    "policy_invalid",
    "membership_unavailable",
    "graph_unavailable",
    "edge_not_allowed",
    "cycle",
    "cross_tenant",
  ],
  summary: "What a change of edges, circumstances or policies gives to and takes from somebody; nothing is written.",
});
