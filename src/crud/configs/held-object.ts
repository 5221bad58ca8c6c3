import type { ConfigObjectKind } from "#contract/configs.ts";
import type { Fault } from "#contract/problem.ts";
import type { Prepared } from "./kinds.ts";
import type { StoredHead } from "./version-store.ts";

export type KindName = ConfigObjectKind;

/** An object as this process holds it. */
export interface HeldObject {
  readonly kind: KindName;
  readonly name: string;
  /** The version in force; absent where only a file that does not load has this name. */
  readonly head?: StoredHead | undefined;
  /** Whom a file that does not load names as its tenants, where there is no head; absent: nobody knows. */
  readonly tenants?: readonly string[] | undefined;
  /** What serves, and of which version it is: of none where it is what of a faulty file can serve. */
  readonly prepared?: Prepared | undefined;
  readonly serving: number | null;
  /** Why the version in force, or the file on disk, is not what serves. */
  readonly faults: readonly Fault[];
  /** The document that the faults are of, if it holds parts of several tenants and could be read. */
  readonly found?: unknown;
}

export const keyOf = (kind: string, name: string): string => `${kind}/${name}`;
