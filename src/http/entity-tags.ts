interface Named {
  get(name: string): string | null | undefined;
}

/** A list of entity tags, or null where none is named. */
export const tagsOf = (headers: Named, name: "if-match" | "if-none-match"): string | null => headers.get(name)?.trim() || null;

/** Whether a list of `If-Match` names this one; `*` names any that is there. */
export const namesTag = (header: string, tag: string | undefined): boolean =>
  tag !== undefined && header.split(",").some((one) => one.trim() === "*" || one.trim() === tag);

const bare = (tag: string): string => tag.trim().replace(/^W\//, "");

/** Whether a list of `If-None-Match` names this one: as `namesTag`, but a weak tag is as good as a strong one (RFC 9110, 13.1.2). */
export const namesState = (header: string | null, tag: string | undefined): boolean =>
  header !== null && tag !== undefined && namesTag(header.split(",").map(bare).join(","), bare(tag));
