import { z } from "zod";
import { endpoint, withoutAgents } from "./endpoint.ts";
import { idempotencyKey, timestamp } from "./ids.ts";

/** The secrets API. Values are any JSON; `uri` is always the canonical form in answers. */

export const secretsBase = "/api/secrets";

/** Anything but a dot segment. */
const SEGMENT = "(?:[A-Za-z0-9_~@-][A-Za-z0-9._~@-]{0,127}|\\.{1,2}[A-Za-z0-9_~@-][A-Za-z0-9._~@-]{0,125}|\\.{3}[A-Za-z0-9._~@-]{0,125})";
const PLACE = `[A-Za-z0-9._-]{1,128}(?:/${SEGMENT}){1,31}`;
const KEY = "(?:#[A-Za-z0-9._~/@:!$&'()*+,;=-]{1,256})?";
/** Ids and aliases of schemes are Sallyport's settings: what each of them takes is told by a `uri_*` code of its own (`secret-uri.ts`). */
const uriForm = (tail: string) => ({
  type: "string",
  maxLength: 1024,
  pattern: `^[A-Za-z][A-Za-z0-9+.-]{0,31}://${PLACE}${KEY}${tail}$`,
  examples: ["yaml://secret/acme/people/api#token"],
});
/** A place that secrets lie under, whole or as a bare path below `yaml://secret`. */
export const prefixForm = {
  maxLength: 1000,
  pattern: `^(?:[A-Za-z][A-Za-z0-9+.-]{0,31}://[A-Za-z0-9._-]{1,128}|${SEGMENT})(?:/${SEGMENT}){0,30}/?$`,
  examples: ["yaml://secret/acme"],
};
const versionText = z.string().meta({ pattern: "^[1-9][0-9]{0,9}$" });
export const writtenUri = z
  .unknown()
  .optional()
  .meta({ ...uriForm(""), needed: true });
/** Looked for rather than read: it may be left out. */
export const soughtUri = z.string().optional().meta(uriForm("(?:\\?version=[1-9][0-9]{0,9})?"));
export const readUri = soughtUri.meta({ ...soughtUri.meta(), needed: true });

/** What may be wrong with a secret URI; the first issue by this rule wins. */
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

export const common = [
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

/** What a store of another maker may say. */
export const ofStore = ["provider_unavailable", "provider_denied", "provider_error", "provider_redirect"] as const;

/** Whatever writes. */
export const writing = [
  ...common,
  ...ofStore,
  "outcome_unknown",
  "uri_version_not_allowed",
  "body_ambiguous",
  "value_too_deep",
  "provider_readonly",
  "value_shape",
  "value_too_large",
  "cas_mismatch",
  "file_invalid",
] as const;

/** A changing POST: what is sent again with its key is answered as before and not done again. */
export const once = { "Idempotency-Key": idempotencyKey.optional() };
/** `"<version>"`: the version that is changed and no other, where versions are kept; else `stale_version`. */
export const pinned = { "If-Match": z.string().optional() };
export const keyed = ["idempotency_key_required", "idempotency_conflict", "in_progress", "outcome_unknown"] as const;

/** The audit entry of what was done is not closed yet; Sallyport goes on trying. */
export const marked = { audit: z.literal("pending").optional() };

/** The query is read with codes of its own: decoded once, and a plus sign stays one. */
const reading = [
  ...common,
  "query_repeated",
  "query_unknown",
  "query_encoding",
  ...ofStore,
  "secret_not_found",
  "key_not_found",
  "version_not_found",
  "version_deleted",
  "version_destroyed",
  "agent_value_denied",
  "purpose_required",
  "rate_limited",
] as const;

const mayRead = { auth: "bearer", agents: "decided", scope: ["secrets.read"], decision: "secret/read" } as const;

export const writeSecret = endpoint("secrets", "POST", secretsBase, {
  headers: { ...once, ...pinned },
  body: z.strictObject({
    uri: writtenUri,
    value: z.unknown().optional().meta({ needed: true }),
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
    /** False: the store holds what it held before. One with versions has made a version of it all the same. */
    changed: z.boolean(),
    resource_ref: z.string().optional(),
    ...marked,
  }),
  moreStatuses: [201],
  ...withoutAgents({ scope: ["secrets.write"], decision: "secret/write" }),
  problems: [...writing, ...keyed, "stale_version"],
  summary: "Create (201) or update (200) a secret. With a key in the URI that key is set and its siblings stay.",
});

export const readSecret = endpoint("secrets", "GET", secretsBase, {
  query: z.strictObject({ uri: readUri }),
  reply: z.object({ uri: z.string(), value: z.unknown(), ...marked }),
  ...mayRead,
  problems: reading,
  summary: "Read from the file provider; other providers answer 501.",
});

export const readSecretValue = endpoint("secrets", "GET", `${secretsBase}/value`, {
  query: z.strictObject({ uri: readUri, version: versionText.optional(), purpose: z.enum(["read", "execute"]).optional() }),
  reply: z.object({
    uri: z.string(),
    value: z.unknown(),
    version: z.number().int().optional(),
    created_time: timestamp.optional(),
    cached: z.boolean(),
    audit_id: z.string(),
    keep_seconds: z.number().int(),
    ...marked,
  }),
  ...mayRead,
  problems: [...reading, "version_conflict"],
  summary: "Read a value through the enforcement layer: decided, recorded, then fetched.",
});
