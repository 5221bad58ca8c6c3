/** Whether a list of entity tags (`If-Match`, `If-None-Match`) names this one; `*` names any that is there. */
export const namesTag = (header: string, tag: string | undefined): boolean =>
  tag !== undefined && header.split(",").some((one) => one.trim() === "*" || one.trim() === tag);
