import type { Scheme } from "#secrets/uri-schemes.ts";
import type { SecretUri } from "#secrets/secret-uri.ts";
import type { SecretData, SecretValue } from "#secrets/secret-value.ts";
import type { SecretRef } from "#secrets/tenant-guard.ts";

/** What a provider may be able to do; the operations of the API name these. */
export type ProviderAbility = "read_plain" | "read_value" | "write";

/** One thing that is decided: the secret itself, or a map below it. Its id need not parse (a file may hold odd names). */
export type SecretNode = Pick<SecretUri, "id" | "scheme" | "mount" | "segments" | "key">;

/** What a write does: with a key, that key; without, the keys that `value` (a map) names. `replace`: exactly the value. */
export interface SecretChange {
  readonly value: SecretData;
  readonly replace: boolean;
}

export interface ReadSecret {
  readonly value: SecretValue;
  /** Every node the value shows; the caller compares them with what was decided. */
  readonly nodes: readonly SecretNode[];
  readonly version?: number;
}

export interface WrittenSecret {
  /** What was addressed did not exist before. */
  readonly created: boolean;
  readonly version?: number;
  readonly createdTime?: string;
}

export interface WriteExpectation {
  /** 0 = the path must not exist. */
  readonly cas?: number;
  /** Ids that were decided: a write that would touch a node outside is `busy` and writes nothing. */
  readonly decided: ReadonlySet<string>;
}

/** A store of secrets behind the corridor: everything here was guarded, decided and recorded before. */
export interface SecretProvider {
  readonly name: string;
  readonly schemes: readonly Scheme[];
  readonly can: ReadonlySet<ProviderAbility>;
  /** All nodes that reading, or this change, would touch: the secret itself first, then what lies below. */
  nodes(ref: SecretRef, change?: SecretChange): Promise<readonly SecretNode[]>;
  /** Throws `secret_not_found`, `key_not_found`, `provider_unavailable`. */
  read(ref: SecretRef): Promise<ReadSecret>;
  /** Throws `provider_readonly`, `value_shape`, `value_too_large`, `cas_mismatch`, `file_invalid`, `busy`, `not_supported`. */
  write(ref: SecretRef, change: SecretChange, expect: WriteExpectation): Promise<WrittenSecret>;
  /** `degraded` = older content is served; the text names place and fault, never content. */
  state(): Promise<{ readonly status: "up" | "degraded" | "down"; readonly fault?: string }>;
}
