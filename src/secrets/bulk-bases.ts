import type { RemovedSecret, Standing } from "./providers/secret-provider.ts";
import { formatPrefix, type SecretPrefix } from "./secret-uri.ts";
import { isBelow } from "./tenant-guard.ts";

/**
 * What the operations of a plan stand on: each secret as it was looked at, and after an operation as that left it. One that failed
 * leaves its base as it was, so that what somebody else wrote is met by none of those that follow.
 */
export interface Bases {
  /** The newest version, or the mark of a store without versions. */
  looked(place: SecretPrefix, at: number | string): void;
  /** What an operation at a place must find; nothing of a place that was not looked at. */
  of(place: SecretPrefix): { readonly cas: number | undefined; readonly stands: readonly Standing[] | undefined };
  left(place: SecretPrefix, done: Pick<RemovedSecret, "made" | "stands"> & { readonly version?: number }): void;
}

export const createBases = (): Bases => {
  const versions = new Map<string, number>();
  const standing = new Map<string, Standing>();
  const stand = (one: Standing): void => void standing.set(formatPrefix(one.place), one);
  return {
    looked: ({ scheme, mount, segments }, at) => {
      const place = { scheme, mount, segments };
      if (typeof at === "number") versions.set(formatPrefix(place), at);
      else stand({ place, mark: at });
    },
    of: (place) => {
      // Maps in a file hold one another: what changes one changes all above it.
      const stands = [...standing.values()].filter((one) => isBelow(one.place, place) || isBelow(place, one.place));
      return { cas: versions.get(formatPrefix(place)), stands: stands.length === 0 ? undefined : stands };
    },
    left: (place, { version, made, stands }) => {
      const at = formatPrefix(place);
      const newest = version ?? made;
      if (newest !== undefined && versions.has(at)) versions.set(at, newest);
      stands?.forEach(stand);
    },
  };
};
