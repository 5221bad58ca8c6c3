import { z } from "zod";
import { endpoint, withoutAgents } from "./endpoint.ts";
import { timestamp } from "./ids.ts";
import { secretVersion, writtenBy } from "./secret-acts.ts";
import { common, marked, ofStore, prefixForm, readUri, secretsBase } from "./secrets.ts";

/** What may be known of secrets without their values. */

export const listSecretMounts = endpoint("secrets", "GET", `${secretsBase}/mounts`, {
  reply: z.object({
    mounts: z.array(
      z.object({
        uri: z.string(),
        /** It keeps old versions, which can be read, restored and destroyed. */
        versions: z.boolean(),
        /** False: nothing can be changed there, whoever asks. */
        writable: z.boolean(),
      }),
    ),
  }),
  ...withoutAgents({ scope: ["secrets.read_metadata"], decision: "secrets/view_all" }),
  problems: ["tenant_required", "tenant_mismatch", "access_denied", "step_up_required", "decision_unavailable"],
  summary: "Places that the caller's tenant may keep secrets at; none where nobody has set any.",
});

const whole = (least: number, max: number) =>
  z
    .string()
    .regex(/^[0-9]{1,4}$/)
    .transform(Number)
    .refine((count) => count >= least && count <= max, `must be ${least} to ${max}`)
    .optional()
    .meta({ type: "integer", minimum: least, maximum: max });
const prefix = z.string().max(1024).optional().meta(prefixForm);
/** What kept a list from being whole; it goes on with the cursor where there is one. */
const truncatedBy = z.enum(["calls", "names", "time", "decisions"]).optional();
/** Places whose store lets Sallyport list nothing, passed over where no prefix was named. */
const skipped = z.array(z.string()).optional();
const page = { limit: whole(1, 500), cursor: z.string().max(2048).optional() };

const ofMetadata = withoutAgents({ scope: ["secrets.read_metadata"], decision: "secret/read_metadata" });
const asking = [...common, ...ofStore, "query_repeated", "query_unknown", "query_encoding"] as const;
const ofOne = [...asking, "secret_not_found", "key_not_found", "uri_version_not_allowed", "fragment_not_allowed"] as const;
const query = z.strictObject({ uri: readUri });
/** Whose it is said to be, and what Sallyport did to it. */
const lastChange = { owner: z.string().optional(), ...writtenBy, rotated_at: timestamp.optional() };

export const listSecretMetadata = endpoint("secrets", "GET", `${secretsBase}/metadata`, {
  query: z.strictObject({ prefix, depth: whole(1, 8), ...page }),
  reply: z.object({
    items: z.array(z.object({ uri: z.string(), keys: z.number().int().nullable(), ...lastChange })),
    next_cursor: z.string().optional(),
    truncated_by: truncatedBy,
    skipped,
    ...marked,
  }),
  ...ofMetadata,
  problems: [...asking, "invalid_cursor"],
  summary: "The secrets below a prefix that you may know of; of a KVv2 mount one level, or as many as depth says.",
});

export const listSecretKeys = endpoint("secrets", "GET", `${secretsBase}/keys`, {
  query,
  reply: z.object({ uri: z.string(), keys: z.array(z.string()), nodes: z.array(z.string()), ...marked }),
  ...ofMetadata,
  problems: [...ofOne, "version_deleted", "version_destroyed"],
  summary: "Names of a secret's keys, and of the secrets below it in the file; never a value.",
});

export const describeSecret = endpoint("secrets", "GET", `${secretsBase}/metadata/detail`, {
  query,
  reply: z.object({
    uri: z.string(),
    current_version: z.number().int(),
    oldest_version: z.number().int(),
    created_time: timestamp,
    updated_time: timestamp,
    max_versions: z.number().int(),
    cas_required: z.boolean(),
    delete_version_after: z.string(),
    custom_metadata: z.record(z.string(), z.string()),
    ...lastChange,
    versions: z.array(secretVersion),
    ...marked,
  }),
  ...ofMetadata,
  problems: ofOne,
  summary: "Versions, rules and custom metadata of a secret in KVv2.",
});

export const listSecretVersions = endpoint("secrets", "GET", `${secretsBase}/versions`, {
  query: z.strictObject({
    uri: readUri,
    /** True: which of the newest 10 hold the same, by fingerprints that are this answer's alone; decided as `read`. */
    fingerprints: z.enum(["true", "false"]).optional(),
  }),
  reply: z.object({
    uri: z.string(),
    current_version: z.number().int(),
    versions: z.array(secretVersion.extend({ fingerprint: z.string().optional() })),
    ...marked,
  }),
  ...ofMetadata,
  problems: ofOne,
  summary: "Versions of a secret in KVv2, the newest first.",
});

export const searchSecrets = endpoint("secrets", "GET", `${secretsBase}/search`, {
  query: z.strictObject({ q: z.string().min(1).max(128), prefix, depth: whole(1, 8), ...page }),
  reply: z.object({
    items: z.array(z.object({ uri: z.string(), match: z.enum(["path", "key"]) })),
    next_cursor: z.string().optional(),
    truncated: z.boolean(),
    truncated_by: truncatedBy,
    skipped,
    ...marked,
  }),
  ...ofMetadata,
  problems: [...asking, "invalid_cursor"],
  summary: "Secrets whose path, or a key of which in the file, holds a text; those that you may know of. Values are not searched.",
});
