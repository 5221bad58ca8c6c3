import type { z } from "zod";
import type { ReplyOf } from "#contract/endpoint.ts";
import type { secretVersion } from "#contract/secret-acts.ts";
import type { describeSecret } from "#contract/secret-listings.ts";
import type { LastChange } from "#secrets/model/changes.ts";
import type { SharedStore } from "#secrets/model/store-position.ts";
import type { ProviderAbility, Scheme } from "#contract/secret-schemes.ts";
import type { SecretPrefix, SecretUri } from "#secrets/model/secret-uri.ts";
import type { SecretData, SecretMap, SecretValue } from "#secrets/model/secret-value.ts";
import type { SecretRef } from "#secrets/model/tenant-guard.ts";

/** One thing that is decided: the secret itself, or a map below it. Its id need not parse (a file may hold odd names). */
export type SecretNode = Pick<SecretUri, "id" | "scheme" | "mount" | "segments" | "key">;

/** What a write does: with a key, that key; without, the keys that `value` (a map) names. `replace`: exactly the value. */
export interface SecretChange {
  readonly value: SecretData;
  readonly replace: boolean;
}

/** What is about to be done to a store: whoever comes after a process that died in between looks whether it was. */
export interface Intent {
  /** How the versions named stand then; without versions, the secret itself. */
  readonly wanted: "written" | "deleted" | "destroyed" | "active";
  readonly versions?: readonly number[];
  /** The whole map that is written. */
  readonly map?: SecretMap;
}
/** Called before the store is touched, anew for each other try; where it throws, nothing is touched. */
export type Intend = (intent: Intent) => Promise<void>;

/** How a secret of a store without versions was seen to stand: the mark of all that lies at its path. */
export interface Standing {
  readonly place: SecretPrefix;
  readonly mark: string;
}

export interface ReadSecret {
  readonly value: SecretValue;
  /** Every node the value shows; the caller compares them with what was decided. */
  readonly nodes: readonly SecretNode[];
  readonly version?: number;
  readonly createdTime?: string;
}

export interface WrittenSecret {
  /** What was addressed did not exist before. */
  readonly created: boolean;
  /** Nothing at all was at the path before. */
  readonly isFirst: boolean;
  /** Whether the store holds something else now; a store of versions makes a version of the same, too. */
  readonly changed: boolean;
  readonly version?: number;
  readonly createdTime?: string;
  /** The version before; absent where there was none, or none are kept. */
  readonly oldVersion?: number;
  /** The places that were expected to stand in some way, as this act left them. */
  readonly stands?: readonly Standing[];
}

export interface WriteExpectation {
  /** Version that must be the present one; 0 = nothing may be there. */
  readonly cas?: number;
  /** What is addressed must be there, else `secret_not_found`, `key_not_found`. */
  readonly mustExist?: boolean;
  /** What is addressed must not be there, else `target_exists`. */
  readonly mustNotExist?: boolean;
  /** Places that must be as they were looked at, else `cas_mismatch`: for stores without versions. */
  readonly stands?: readonly Standing[];
  /** Ids that were decided: a write that would touch a node outside is `busy` and writes nothing. */
  readonly decided: ReadonlySet<string>;
  readonly intend?: Intend;
}

export interface Removal extends Pick<WriteExpectation, "decided" | "cas" | "stands" | "intend"> {
  /** Beyond restoring, where old versions are kept. */
  readonly hard: boolean;
  /** Removes only what is still as it was read; else `source_changed`. */
  readonly onlyIf?: ReadSecret;
}

export interface RemovedSecret {
  readonly result: "deleted" | "removed" | "key_removed" | "destroyed" | "unchanged";
  readonly versions?: readonly SecretVersion[];
  /** The newest version as this act left it, where it made one; `versions` may hold one that came later. */
  readonly made?: number;
  readonly stands?: readonly Standing[];
}

/** As the API tells it; `deletion_time` is when it was, or will be, deleted. */
export type SecretVersion = z.output<typeof secretVersion>;

/** A secret with its versions, the newest first: what the API tells of it that its store knows. */
export type SecretDetail = Omit<ReplyOf<typeof describeSecret>, "uri" | keyof LastChange>;

/** A secret that a listing found. */
export interface ListedSecret {
  readonly node: SecretNode;
  /** Names of its keys; absent where finding them would mean reading the secret. */
  readonly keys?: readonly string[];
}

export interface Listing {
  readonly items: readonly ListedSecret[];
  /** What kept it from being whole, and the id after which the rest is found. */
  readonly truncatedBy?: "calls" | "names" | "time";
  readonly goesOnAt?: string;
}

/** A store of secrets behind the pipeline: everything here was guarded, decided and recorded before. */
export interface SecretProvider extends SharedStore {
  readonly schemes: readonly Scheme[];
  readonly can: ReadonlySet<ProviderAbility>;
  /** It refuses every change here (`provider_readonly`). */
  readonly isReadOnly?: boolean;
  /** All nodes that reading, or this change, would touch: the secret itself first, then what lies below. */
  nodes(ref: SecretRef, change?: SecretChange): Promise<readonly SecretNode[]>;
  /** Throws `secret_not_found`, `key_not_found`, `version_*`, `provider_unavailable`. */
  read(ref: SecretRef): Promise<ReadSecret>;
  /** Throws `provider_readonly`, `value_shape`, `value_too_large`, `cas_mismatch`, `file_invalid`, `busy`, `not_supported`, `outcome_unknown`. */
  write(ref: SecretRef, change: SecretChange, expect: WriteExpectation): Promise<WrittenSecret>;
  /** As `write`; also `secret_not_found`, `key_not_found`, `source_changed`. What comes meanwhile stays. */
  remove(ref: SecretRef, how: Removal): Promise<RemovedSecret>;
  /**
   * Restores deleted versions, or destroys versions; answers those named that there are, as they are then, and which of them this act
   * changed. Throws `version_not_found` if there is none of them, `outcome_unknown` where the store does not show that it was done.
   */
  settle(
    ref: SecretRef,
    versions: readonly number[],
    how: "undelete" | "destroy",
    more?: Pick<Removal, "cas" | "intend">,
  ): Promise<readonly (SecretVersion & { readonly changed: boolean })[]>;
  describe(ref: SecretRef): Promise<SecretDetail>;
  /** Names below the secret, or below a key of it: `nodes` are secrets of their own. Without the values where the store can; throws as `read`. */
  keys(ref: SecretRef): Promise<{ readonly keys: readonly string[]; readonly nodes: readonly string[] }>;
  /**
   * Secrets at and below a place, so many levels down, in the order of their ids; those up to `after` may be left out. `most`: more of them
   * are of no use; 10,000 unless given.
   */
  list(place: SecretPrefix, depth: number, after?: string, max?: number): Promise<Listing>;
  /** `degraded` = older content is served, or none for now; the fault is a word that anybody may read. */
  state(): Promise<{ readonly status: "up" | "degraded"; readonly issue?: string }>;
}
