import { Problem } from "#contract/problem.ts";
import { namesTag, tagsOf as listOf } from "#http/entity-tags.ts";

/** Tag of a row's revision. */
export const tagOf = ({ rev }: { readonly rev: bigint }): string => `"${rev}"`;

/** Tags that the row must still have; `undefined`: none was named, any will do. */
export const tagsOf = (request: Request): readonly string[] | undefined =>
  listOf(request.headers, "if-match")
    ?.split(",")
    .map((tag) => tag.trim());

/** Throws `if_match_required` where none is named. */
export const requireTags = (request: Request): readonly string[] => {
  const tags = tagsOf(request);
  if (tags === undefined) throw new Problem("if_match_required");
  return tags;
};

/** What is to be made is there. Throws `stale_version`, with the tag that it has. */
export const refuseHeld = (row: { readonly rev: bigint }): never => {
  const detail = "It is there already, and with If-None-Match: * it is made only where it is not. To change it send its ETag in If-Match.";
  throw new Problem("stale_version", { detail, headers: { etag: tagOf(row) } });
};

/** Throws `stale_version`, with the tag that the row has now. */
export const requireTag = (tags: readonly string[] | undefined, row: { readonly rev: bigint }): void => {
  if (tags === undefined || namesTag(tags.join(), tagOf(row))) return;
  throw new Problem("stale_version", { headers: { etag: tagOf(row) } });
};
