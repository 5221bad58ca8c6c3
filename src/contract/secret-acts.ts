import { z } from "zod";
import { endpoint, withoutAgents } from "./endpoint.ts";
import { timestamp } from "./ids.ts";
import { common, keyed, marked, ofStore, once, pinned, readUri, secretsBase, writing, writtenUri } from "./secrets.ts";

/** What is done to secrets beside writing them. */

export const secretVersion = z.object({
  version: z.number().int(),
  created_time: timestamp,
  deletion_time: timestamp.nullable(),
  destroyed: z.boolean(),
  state: z.enum(["active", "deleted", "destroyed"]),
  /** It is still there, and will not be from then on. */
  expires_at: timestamp.optional(),
});
const versionNumbers = z
  .unknown()
  .optional()
  .meta({
    needed: true,
    type: "array",
    items: { type: "integer", minimum: 1, maximum: Number.MAX_SAFE_INTEGER },
    minItems: 1,
    maxItems: 100,
    uniqueItems: true,
  });
const value = z.unknown().optional().meta({ needed: true });
const absent = ["secret_not_found", "key_not_found"] as const;

export const deleteSecret = endpoint("secrets", "DELETE", secretsBase, {
  headers: pinned,
  query: z.strictObject({ uri: readUri, destroy: z.enum(["true", "false"]).optional() }),
  reply: z.object({
    uri: z.string(),
    result: z.enum(["deleted", "removed", "key_removed", "destroyed", "unchanged"]),
    versions: z.array(secretVersion).optional(),
    ...marked,
  }),
  ...withoutAgents({ scope: ["secrets.delete", "secrets.destroy"], decision: "secret/delete" }),
  problems: [...writing, ...absent, "stale_version", "query_repeated", "query_unknown", "query_encoding", "fragment_not_allowed"],
  summary: "Delete a secret or a key of it; with versions it can be restored, unless destroy=true, which ends all versions for good.",
});

export const rotateSecret = endpoint("secrets", "POST", `${secretsBase}/rotate`, {
  headers: { ...once, ...pinned },
  body: z.strictObject({ uri: writtenUri, value, cas: z.number().int().min(0).optional() }),
  reply: z.object({
    uri: z.string(),
    old_version: z.number().int().optional(),
    new_version: z.number().int().optional(),
    /** False: the value is the one that was there before. */
    changed: z.boolean(),
    stage: z.literal("current"),
    ...marked,
  }),
  ...withoutAgents({ scope: ["secrets.rotate"], decision: "secret/rotate" }),
  problems: [...writing, ...keyed, ...absent, "stale_version"],
  summary: "Put a new value in the place of the present one; readers have it at once.",
});

/** Whose it is said to be; who may do what goes by grants. */
export const secretOwner = z.string().regex(/^[a-z]+:[A-Za-z0-9._@-]{1,120}$/, "must be kind:name, e.g. group:payments");
/** Who made and who last changed it through Sallyport, and when; absent where nobody did. */
export const writtenBy = {
  created_by: z.string().optional(),
  created_at: timestamp.optional(),
  updated_by: z.string().optional(),
  updated_at: timestamp.optional(),
};
const writtenOwner = z.unknown().optional().meta({ needed: true, type: "string", pattern: "^[a-z]+:[A-Za-z0-9._@-]{1,120}$" });

export const setSecretOwner = endpoint("secrets", "POST", `${secretsBase}/metadata/owner`, {
  headers: once,
  body: z.strictObject({ uri: writtenUri, owner: writtenOwner }),
  reply: z.object({ uri: z.string(), owner: z.string(), ...writtenBy, ...marked }),
  ...withoutAgents({ scope: ["secrets.set_owner"], decision: "secret/owner_update" }),
  problems: [...writing, ...keyed, ...absent, "version_deleted", "version_destroyed", "fragment_not_allowed", "owner_invalid"],
  summary: "Say whose a secret is; metadata tells it. It gives nobody a right.",
});

const settled = {
  headers: { ...once, ...pinned },
  body: z.strictObject({ uri: writtenUri, versions: versionNumbers }),
  reply: z.object({ uri: z.string(), versions: z.array(secretVersion.extend({ changed: z.boolean() })), ...marked }),
  ...withoutAgents(),
  problems: [...writing, ...keyed, ...absent, "version_not_found", "versions_required", "fragment_not_allowed", "stale_version"],
} as const;

export const undeleteSecret = endpoint("secrets", "POST", `${secretsBase}/undelete`, {
  ...settled,
  scope: ["secrets.delete"],
  decision: "secret/undelete",
  summary: "Restore deleted versions; those of the named that there are come back as they are then.",
});

export const destroySecretVersions = endpoint("secrets", "POST", `${secretsBase}/destroy-versions`, {
  ...settled,
  scope: ["secrets.destroy"],
  decision: "secret/destroy_versions",
  summary: "Destroy versions for good; their numbers are not used again.",
});

const carried = {
  headers: once,
  body: z.strictObject({
    fromUri: writtenUri,
    toUri: writtenUri,
    overwrite: z.boolean().optional(),
    /** The version at the target that is overwritten: with another one there by now nothing is. */
    cas: z.number().int().min(0).optional(),
    /** Nothing is done: it is refused as it would be, and answers 200 where it would not. */
    dry_run: z.boolean().optional(),
  }),
  moreStatuses: [201],
  ...withoutAgents(),
} as const;
const carrying = [
  ...writing,
  ...keyed,
  ...absent,
  "version_not_found",
  "version_deleted",
  "version_destroyed",
  "same_resource",
  "copy_shape",
  "target_exists",
  "copy_unverified",
] as const;
const copied = z.object({
  from: z.string(),
  to: z.string(),
  version: z.number().int().optional(),
  created: z.boolean(),
  /** Read back; false: of a dry run. */
  verified: z.boolean(),
  ...marked,
});

export const copySecret = endpoint("secrets", "POST", `${secretsBase}/copy`, {
  ...carried,
  reply: copied,
  scope: ["secrets.read", "secrets.write"],
  decision: "secret/read",
  problems: carrying,
  summary: "Copy a secret or a key, across providers too, and read the copy back. What is at the target stays unless overwrite is true.",
});

export const moveSecret = endpoint("secrets", "POST", `${secretsBase}/move`, {
  ...carried,
  reply: copied.extend({ id: z.string().optional(), state: z.enum(["done", "planned"]) }),
  scope: ["secrets.read", "secrets.write", "secrets.delete"],
  decision: "secret/read",
  problems: [...carrying, "source_changed"],
  summary: "Copy, then delete the source if nobody wrote it meanwhile. Broken off, it is at one of the two places or at both.",
});

const operation = z.strictObject({
  op: z.enum(["set", "delete", "destroy", "undelete", "rotate"]),
  uri: writtenUri,
  value: z.unknown().optional(),
  versions: z.unknown().optional(),
  /** Version that must be the present one; in the file, which keeps none, 0 alone may be named: nothing may be there yet. */
  cas: z.number().int().min(0).optional(),
  destroy: z.boolean().optional(),
});

export const bulkSecrets = endpoint("secrets", "POST", `${secretsBase}/bulk`, {
  headers: once,
  body: z.strictObject({
    operations: z.array(operation).min(1).max(100),
    /** Each operation as if it came alone; there is no other mode. */
    mode: z.enum(["per_item"]).optional(),
    /** False: what follows a failure is skipped. */
    continueOnError: z.boolean().optional(),
    /** Nothing is done: what each would be permitted is answered, with a plan. */
    dry_run: z.boolean().optional(),
    /** Of a dry run of the same operations by the same caller in the last 5 minutes: done only if all stands as it stood then. */
    plan: z.string().max(2048).optional(),
  }),
  reply: z.object({
    results: z.array(
      z.object({
        index: z.number().int(),
        op: z.string(),
        uri: z.string().optional(),
        status: z.number().int(),
        code: z.string().optional(),
        version: z.number().int().optional(),
        /** False: all was as it was to be already, and nothing was done. */
        changed: z.boolean().optional(),
        decision_id: z.string().optional(),
      }),
    ),
    summary: z.object({ ok: z.number().int(), failed: z.number().int(), skipped: z.number().int() }),
    plan: z.string().optional(),
    ...marked,
  }),
  ...withoutAgents({ scope: ["secrets.write", "secrets.delete", "secrets.destroy", "secrets.rotate"], decision: "secret/write" }),
  problems: ["body_ambiguous", "value_too_deep", "plan_stale", ...common, ...keyed, ...ofStore],
  summary: "Up to 100 operations one after the other, each guarded, decided and recorded as if it came alone; each with its own status.",
});
