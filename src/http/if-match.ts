/** A list of entity tags, or null where none is named. */
export const tagsOf = (headers: Headers, name: "if-match" | "if-none-match"): string | null => headers.get(name)?.trim() || null;

/** Whether a list of entity tags (`If-Match`, `If-None-Match`) names this one; `*` names any that is there. */
export const namesTag = (header: string, tag: string | undefined): boolean =>
  tag !== undefined && header.split(",").some((one) => one.trim() === "*" || one.trim() === tag);
