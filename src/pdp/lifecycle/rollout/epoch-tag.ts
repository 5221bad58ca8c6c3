import { Problem } from "#contract/problem.ts";
import { namesTag } from "#http/entity-tags.ts";
import type { Pointer } from "./pointer.ts";

/** ETag of what decides: it changes with every activation, rollback and shadow. */
export const epochTag = (epoch: bigint): string => `"epoch-${epoch}"`;

/** Throws `stale_version` when the sender read another state than the present one. Without a header nothing is checked. */
export const requireEpoch = (ifMatch: string | null, pointer: Pointer): void => {
  if (ifMatch === null || namesTag(ifMatch, epochTag(pointer.epoch))) return;
  throw new Problem("stale_version", {
    detail: "Another version was made to decide since you read it.",
    headers: { etag: epochTag(pointer.epoch) },
  });
};
