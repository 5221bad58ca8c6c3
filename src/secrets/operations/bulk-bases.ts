import type { RemovedSecret, Standing } from "#secrets/providers/secret-provider.ts";
import { formatPrefix, type SecretPrefix } from "#secrets/model/secret-uri.ts";
import { isBelow } from "#secrets/model/tenant-guard.ts";

export type Bases = ReturnType<typeof createBases>;

/**
 * What the operations of a plan stand on: each secret as it was looked at, and after an operation as that left it. One that failed
 * leaves its base as it was, so that what somebody else wrote is met by none of those that follow.
 */
export const createBases = () => {
  const versions = new Map<string, number>();
  const standing = new Map<string, Standing>();
  const stand = (one: Standing): void => void standing.set(formatPrefix(one.place), one);
  return {
    /** The newest version, or the mark of a store without versions. */
    looked: ({ scheme, mount, segments }: SecretPrefix, at: number | string): void => {
      const place = { scheme, mount, segments };
      if (typeof at === "number") versions.set(formatPrefix(place), at);
      else stand({ place, mark: at });
    },
    /** What an operation at a place must find; nothing of a place that was not looked at. */
    of: (place: SecretPrefix): { readonly cas: number | undefined; readonly stands: readonly Standing[] | undefined } => {
      // Maps in a file hold one another: what changes one changes all above it.
      const stands = [...standing.values()].filter((one) => isBelow(one.place, place) || isBelow(place, one.place));
      return { cas: versions.get(formatPrefix(place)), stands: stands.length === 0 ? undefined : stands };
    },
    left: (
      place: SecretPrefix,
      { version, made, stands }: Pick<RemovedSecret, "made" | "stands"> & { readonly version?: number },
    ): void => {
      const at = formatPrefix(place);
      const newest = version ?? made;
      if (newest !== undefined && versions.has(at)) versions.set(at, newest);
      stands?.forEach(stand);
    },
  };
};
