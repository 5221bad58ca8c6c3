import { z } from "zod";
import { endpoint } from "./endpoint.ts";
import { timestamp } from "./ids.ts";

/** The secrets API. Values are any JSON; `uri` is always the canonical form in answers. */

const BASE = "/api/secrets";
/** What may be wrong with a secret URI; the first fault by this rule wins. */
const uriProblems = [
  "uri_required",
  "uri_type",
  "uri_too_long",
  "uri_control",
  "uri_syntax",
  "uri_scheme",
  "uri_authority",
  "uri_path_empty",
  "uri_percent",
  "uri_empty_segment",
  "uri_dot_segment",
  "uri_segment",
  "uri_segment_reserved",
  "uri_key",
  "uri_key_empty",
  "uri_key_encoding",
  "uri_key_reserved",
  "uri_query",
  "uri_query_repeated",
  "uri_version",
  "uri_version_unsupported",
] as const;

const common = [
  ...uriProblems,
  "tenant_required",
  "tenant_mount",
  "tenant_mismatch",
  "secret_authz_failed",
  "not_supported",
  "provider_not_configured",
  "obligation_unsupported",
  "step_up_required",
  "decision_unavailable",
  "audit_unavailable",
  "busy",
] as const;

/** The query is read with codes of its own: decoded once, and a plus sign stays one. */
const reading = [
  ...common,
  "query_repeated",
  "query_unknown",
  "query_encoding",
  "secret_not_found",
  "key_not_found",
  "agent_value_denied",
  "purpose_required",
  "rate_limited",
] as const;

export const writeSecret = endpoint("secrets", "POST", BASE, {
  body: z.strictObject({
    /** Any type: what is wrong with it is told by a `uri_*` code of its own. */
    uri: z.unknown().optional(),
    value: z.unknown().optional(),
    /** Version that must be the present one; 0 = nothing may be there yet. */
    cas: z.number().int().min(0).optional(),
    /** True: the map becomes exactly the value; else keys that are not named stay. */
    replace: z.boolean().optional(),
  }),
  reply: z.object({
    uri: z.string(),
    provider: z.string(),
    version: z.number().int().optional(),
    created_time: timestamp.optional(),
    created: z.boolean(),
    resource_ref: z.string().optional(),
  }),
  auth: "bearer",
  scope: ["secrets.write"],
  decision: "secret/write",
  problems: [
    ...common,
    "uri_version_not_allowed",
    "body_ambiguous",
    "value_too_deep",
    "provider_readonly",
    "value_shape",
    "value_too_large",
    "cas_mismatch",
    "file_invalid",
  ],
  summary: "Create (201) or update (200) a secret. With a key in the URI that key is set and its siblings stay.",
});

export const readSecret = endpoint("secrets", "GET", BASE, {
  query: z.strictObject({ uri: z.string().optional() }),
  reply: z.object({ uri: z.string(), value: z.unknown() }),
  auth: "bearer",
  scope: ["secrets.read"],
  decision: "secret/read",
  problems: reading,
  summary: "Read from the file provider; other providers answer 501.",
});

export const readSecretValue = endpoint("secrets", "GET", `${BASE}/value`, {
  query: z.strictObject({ uri: z.string().optional(), version: z.string().optional(), purpose: z.enum(["read", "execute"]).optional() }),
  reply: z.object({
    uri: z.string(),
    value: z.unknown(),
    version: z.number().int().optional(),
    cached: z.boolean(),
    audit_id: z.string(),
    keep_seconds: z.number().int(),
  }),
  auth: "bearer",
  scope: ["secrets.read"],
  decision: "secret/read",
  problems: [...reading, "version_conflict"],
  summary: "Read a value through the enforcement layer: decided, recorded, then fetched.",
});
