import type { Endpoint } from "#contract/endpoint.ts";
import {
  copySecret,
  deleteSecret,
  destroySecretVersions,
  moveSecret,
  rotateSecret,
  setSecretOwner,
  undeleteSecret,
} from "#contract/secret-acts.ts";
import { describeSecret, listSecretKeys, listSecretMetadata, listSecretVersions, searchSecrets } from "#contract/secret-listings.ts";
import { readSecret, readSecretValue, writeSecret } from "#contract/secrets.ts";
import type { ProviderAbility } from "./providers/secret-provider.ts";
import { secretSchemes } from "#contract/secret-schemes.ts";
import { hasVersions, type Scheme } from "./uri-schemes.ts";

/** What somebody wants of a secret: `execute` = a service of Sallyport uses the value and shows it to nobody. */
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

/** One row an operation: who may ask for what, and who can do it. */
export interface Operation {
  readonly op: string;
  readonly endpoint: Endpoint;
  readonly scope: string;
  /** The first is the purpose unless the caller is a workload, which takes the second where there is one. */
  readonly purposes: readonly [Purpose, Purpose?];
  /** What must be permitted besides, of the same secret. */
  readonly also?: readonly { readonly purpose: Purpose; readonly scope: string }[];
  /** Schemes that the operation is for at all; another one is `not_supported` even when configured. */
  readonly schemes: readonly Scheme[];
  readonly ability: ProviderAbility;
  /** Whether the URI may pin a version; else 400. */
  readonly takesVersion: boolean;
  /** Whether the URI may name a key; else 422. */
  readonly takesKey: boolean;
  /** The value leaves: agents are refused, persons state a purpose, reads of one caller are limited in rate. */
  readonly showsValue: boolean;
  /** It has a journal of its own, by which it is ended for a process that died. */
  readonly isJournaled?: true;
  /** Told of it; what only looks is in the audit log alone. */
  readonly event?: string;
}

const plain = { schemes: secretSchemes, takesVersion: false, takesKey: true, showsValue: false } as const;
const metadata = { ...plain, scope: "secrets.read_metadata", purposes: ["read_metadata"] } as const;
const ofVersions = { ...plain, schemes: secretSchemes.filter(hasVersions), ability: "versions", takesKey: false } as const;
const value = { scope: "secrets.read", takesVersion: true, takesKey: true, showsValue: true, event: "secrets.read" } as const;

export const operations = {
  write: {
    ...plain,
    op: "write",
    endpoint: writeSecret,
    scope: "secrets.write",
    purposes: ["write"],
    ability: "write",
    event: "secrets.updated",
  },
  read: { ...value, op: "read", endpoint: readSecret, purposes: ["read"], schemes: ["yaml"], ability: "read_plain" },
  value: { ...value, op: "value", endpoint: readSecretValue, purposes: ["read", "execute"], schemes: secretSchemes, ability: "read_value" },
  delete: {
    ...plain,
    op: "delete",
    endpoint: deleteSecret,
    scope: "secrets.delete",
    purposes: ["delete"],
    ability: "remove",
    event: "secrets.deleted",
  },
  destroy: {
    ...plain,
    op: "destroy",
    endpoint: deleteSecret,
    scope: "secrets.destroy",
    purposes: ["delete"],
    also: [{ purpose: "destroy_versions", scope: "secrets.destroy" }],
    ability: "remove",
    takesKey: false,
    event: "secrets.destroyed",
  },
  rotate: {
    ...plain,
    op: "rotate",
    endpoint: rotateSecret,
    scope: "secrets.rotate",
    purposes: ["rotate"],
    ability: "write",
    event: "secrets.rotated",
  },
  metadata: { ...metadata, op: "metadata", endpoint: listSecretMetadata, ability: "list" },
  search: { ...metadata, op: "search", endpoint: searchSecrets, ability: "list" },
  keys: { ...metadata, op: "keys", endpoint: listSecretKeys, ability: "read_value" },
  detail: { ...metadata, ...ofVersions, op: "detail", endpoint: describeSecret },
  versions: { ...metadata, ...ofVersions, op: "versions", endpoint: listSecretVersions },
  owner: {
    ...plain,
    op: "owner",
    endpoint: setSecretOwner,
    scope: "secrets.set_owner",
    purposes: ["owner_update"],
    ability: "read_value",
    takesKey: false,
  },
  undelete: {
    ...ofVersions,
    op: "undelete",
    endpoint: undeleteSecret,
    scope: "secrets.delete",
    purposes: ["undelete"],
    event: "secrets.undeleted",
  },
  destroyVersions: {
    ...ofVersions,
    op: "destroy_versions",
    endpoint: destroySecretVersions,
    scope: "secrets.destroy",
    purposes: ["destroy_versions"],
    event: "secrets.destroyed",
  },
  copy: {
    ...plain,
    op: "copy",
    endpoint: copySecret,
    scope: "secrets.read",
    purposes: ["read"],
    ability: "read_value",
    takesVersion: true,
    event: "secrets.copied",
  },
  move: {
    ...plain,
    op: "move",
    endpoint: moveSecret,
    scope: "secrets.read",
    purposes: ["read"],
    also: [{ purpose: "delete", scope: "secrets.delete" }],
    ability: "remove",
    isJournaled: true,
    event: "secrets.moved",
  },
} as const satisfies Record<string, Operation>;

/** The decision point's word for a purpose. */
export const actionOf = (purpose: Purpose): string => (purpose === "execute" ? "use" : purpose);
