import type { Endpoint } from "./endpoint.ts";
import {
  copySecret,
  deleteSecret,
  destroySecretVersions,
  moveSecret,
  rotateSecret,
  setSecretOwner,
  undeleteSecret,
} from "./secret-acts.ts";
import { describeSecret, listSecretKeys, listSecretMetadata, listSecretVersions, searchSecrets } from "./secret-listings.ts";
import type { ProviderAbility } from "./secret-schemes.ts";
import { readSecret, readSecretValue, writeSecret } from "./secrets.ts";

/** What a caller wants of a secret: `execute` = an internal service uses the value and shows it to nobody. */
export type Purpose =
  | "read"
  | "execute"
  | "write"
  | "rotate"
  | "delete"
  | "undelete"
  | "destroy_versions"
  | "read_metadata"
  | "owner_update";

/** Scopes of this API that a person's token may carry. */
export const secretScopes = [
  "secrets.read",
  "secrets.write",
  "secrets.read_metadata",
  "secrets.delete",
  "secrets.destroy",
  "secrets.set_owner",
  "secrets.rotate",
  "secrets.audit",
] as const;
type SecretScope = (typeof secretScopes)[number];

/** One row per operation: its endpoint, what it needs of caller and store, and how it is reported. */
export interface SecretOperation {
  readonly op: string;
  /** What screens call it. */
  readonly label: string;
  readonly endpoint: Endpoint;
  readonly scope: SecretScope;
  /** The first is the purpose; a workload takes the second where there is one. */
  readonly purposes: readonly [Purpose, Purpose?];
  /** What must be permitted besides, of the same secret. */
  readonly also?: readonly { readonly purpose: Purpose; readonly scope: SecretScope }[];
  /** A store without it answers `not_supported`, even where its scheme is not configured. */
  readonly ability: ProviderAbility;
  /** Whether the URI may pin a version; else 400. */
  readonly takesVersion: boolean;
  /** Whether the URI may name a key; else 422. */
  readonly takesKey: boolean;
  /** The answer has the value: agents are refused, persons state a purpose, and a caller's reads are limited in rate. */
  readonly showsValue: boolean;
  /** It has a journal of its own, by which another process ends it. */
  readonly isJournaled?: true;
  /** Its event, and when it is emitted; an operation that only looks has none and is in the audit log alone. */
  readonly event?: { readonly type: string; readonly summary: string };
}

const plain = { takesVersion: false, takesKey: true, showsValue: false } as const;
const metadata = { ...plain, scope: "secrets.read_metadata", purposes: ["read_metadata"] } as const;
const ofVersions = { ...plain, ability: "versions", takesKey: false } as const;
const value = {
  scope: "secrets.read",
  takesVersion: true,
  takesKey: true,
  showsValue: true,
  event: { type: "secrets.read", summary: "A value was read." },
} as const;

export const secretOperations = {
  write: {
    ...plain,
    op: "write",
    label: "Write",
    endpoint: writeSecret,
    scope: "secrets.write",
    purposes: ["write"],
    ability: "write",
    event: { type: "secrets.updated", summary: "A value was written." },
  },
  read: { ...value, op: "read", label: "Read the value", endpoint: readSecret, purposes: ["read"], ability: "read_plain" },
  value: {
    ...value,
    op: "value",
    label: "Read the value",
    endpoint: readSecretValue,
    purposes: ["read", "execute"],
    ability: "read_value",
  },
  delete: {
    ...plain,
    op: "delete",
    label: "Delete",
    endpoint: deleteSecret,
    scope: "secrets.delete",
    purposes: ["delete"],
    ability: "remove",
    event: { type: "secrets.deleted", summary: "A secret, or a key of it, was deleted." },
  },
  destroy: {
    ...plain,
    op: "destroy",
    label: "Destroy",
    endpoint: deleteSecret,
    scope: "secrets.destroy",
    purposes: ["delete"],
    also: [{ purpose: "destroy_versions", scope: "secrets.destroy" }],
    ability: "remove",
    takesKey: false,
    event: { type: "secrets.destroyed", summary: "Versions were destroyed." },
  },
  rotate: {
    ...plain,
    op: "rotate",
    label: "Rotate",
    endpoint: rotateSecret,
    scope: "secrets.rotate",
    purposes: ["rotate"],
    ability: "write",
    event: { type: "secrets.rotated", summary: "A value was replaced by rotation." },
  },
  metadata: { ...metadata, op: "metadata", label: "List", endpoint: listSecretMetadata, ability: "list" },
  search: { ...metadata, op: "search", label: "Search", endpoint: searchSecrets, ability: "list" },
  keys: { ...metadata, op: "keys", label: "List the keys", endpoint: listSecretKeys, ability: "read_value" },
  detail: { ...metadata, ...ofVersions, op: "detail", label: "Look at the details", endpoint: describeSecret },
  versions: { ...metadata, ...ofVersions, op: "versions", label: "List the versions", endpoint: listSecretVersions },
  owner: {
    ...plain,
    op: "owner",
    label: "Set the owner",
    endpoint: setSecretOwner,
    scope: "secrets.set_owner",
    purposes: ["owner_update"],
    ability: "read_value",
    takesKey: false,
  },
  undelete: {
    ...ofVersions,
    op: "undelete",
    label: "Restore",
    endpoint: undeleteSecret,
    scope: "secrets.delete",
    purposes: ["undelete"],
    event: { type: "secrets.undeleted", summary: "Deleted versions were restored." },
  },
  destroyVersions: {
    ...ofVersions,
    op: "destroy_versions",
    label: "Destroy versions",
    endpoint: destroySecretVersions,
    scope: "secrets.destroy",
    purposes: ["destroy_versions"],
    event: { type: "secrets.destroyed", summary: "Versions were destroyed." },
  },
  copy: {
    ...plain,
    op: "copy",
    label: "Copy to another place",
    endpoint: copySecret,
    scope: "secrets.read",
    purposes: ["read"],
    ability: "read_value",
    takesVersion: true,
    event: { type: "secrets.copied", summary: "A secret was copied." },
  },
  move: {
    ...plain,
    op: "move",
    label: "Move to another place",
    endpoint: moveSecret,
    scope: "secrets.read",
    purposes: ["read"],
    also: [{ purpose: "delete", scope: "secrets.delete" }],
    ability: "remove",
    isJournaled: true,
    event: { type: "secrets.moved", summary: "A secret was moved." },
  },
} as const satisfies Record<string, SecretOperation>;

/** What people call an operation, by its `op`. */
export const secretOperationLabels: Readonly<Record<string, string>> = Object.fromEntries(
  Object.values<SecretOperation>(secretOperations).map(({ op, label }) => [op, label]),
);

/** Action of the decision point for a purpose. */
export const actionOf = (purpose: Purpose): string => (purpose === "execute" ? "use" : purpose);
