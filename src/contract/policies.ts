import { z } from "zod";
import { endpoint, withoutAgents } from "./endpoint.ts";
import { sentId } from "./ids.ts";

/**
 * Policies and what can be said of their texts; their versions are in `rollouts.ts`. A person needs the pair
 * `policies/view`, `policies/edit` or `policies/activate`; a service the scope `pdp.policies.read`, `.write` or `.activate`.
 */

/** `v<number>+<first 12 hexadecimal digits of the digest>`; in a path `v<number>` alone is understood too. */
export const policyVersion = z.string().regex(/^v[1-9][0-9]{0,8}(?:\+[0-9a-f]{12})?$/, "must be a version such as v3+1a2b3c4d5e6f");

/** Path inside the bundle, e.g. `policies/pages.cedar`, `policies/cases/pages.yaml`. */
const filePath = z.string().regex(/^policies\/(?:cases\/)?[a-z0-9][a-z0-9_-]{0,63}\.(?:cedar|cedarschema|yaml)$/, {
  message: "must be policies/<name>.cedar, .cedarschema or .yaml, or policies/cases/<name>.yaml",
});
const fileText = z
  .string()
  .max(262_144)
  // oxlint-disable-next-line no-control-regex -- no database keeps it
  .regex(/^[^\u0000]*$/, "holds a NUL");
/** Texts by path; what is not named stays as it is in `from_version`, `null` removes a file. */
export const policyFileChanges = z.record(filePath, fileText.nullable());

export const policyIssue = z.object({
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
  errors: z.array(policyIssue),
  warnings: z.array(policyIssue),
  lint: z.array(policyIssue),
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

/** Whom the endpoints about policies let in. */
export const mayView = withoutAgents({ decision: "policies/view" });
export const mayViewAll = withoutAgents({ decision: "policies/view_all" });
export const mayEdit = withoutAgents({ decision: "policies/edit" });
export const mayActivate = withoutAgents({ decision: "policies/activate" });
export const policyRefusals = ["insufficient_scope", "not_supported"] as const;
/** Policies are looked at one after the other: beyond so many that wait, `busy`. */
export const examinedRefusals = [...policyRefusals, "busy"] as const;
export const POLICIES = "/access/v1/policies";

export const policySchema = endpoint("pdp", "GET", `${POLICIES}/schema`, {
  reply: z.object({
    version: z.string(),
    cedar: z.string(),
    actions: z.array(z.object({ action: z.string(), resource_type: z.string(), name: z.string(), groups: z.array(z.string()) })),
  }),
  ...mayView,
  problems: policyRefusals,
  summary: "The Cedar schema in force and the actions that can be asked.",
});

export const validatePolicies = endpoint("pdp", "POST", `${POLICIES}/validate`, {
  body: z.strictObject({
    /** Texts instead of those of the version that decides, or of `version`. */
    files: policyFileChanges.optional(),
    version: policyVersion.optional(),
  }),
  reply: policyReport,
  ...mayViewAll,
  problems: [...examinedRefusals, "not_found"],
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
  ...mayViewAll,
  problems: [...examinedRefusals, "not_found", "policy_invalid"],
  summary: "Run cases on policies; nothing is stored.",
});

export const listPolicies = endpoint("pdp", "GET", POLICIES, {
  query: z.strictObject({ status: policyStatus.optional() }),
  reply: z.object({ version: z.string(), policies: z.array(policyRow) }),
  ...mayView,
  problems: examinedRefusals,
  summary: "Policies that decide, and those that differ in the shadow or in the newest draft.",
});

export const readPolicy = endpoint("pdp", "GET", `${POLICIES}/{id}`, {
  params: z.object({ id: sentId }),
  query: z.strictObject({ version: policyVersion.optional() }),
  reply: policyRow.omit({ status: true }).extend({
    text: z.string(),
    obligations: z.array(z.string()),
    advice: z.array(z.string()),
    reason: z.string().optional(),
    requestable: z.string().optional(),
  }),
  ...mayView,
  problems: [...examinedRefusals, "not_found"],
  summary: "One policy with its text; the ETag is the text's digest.",
});
