/** What may stand in the address of a page, after `?`: one of a list, or text of a pattern. */
export type Allowed = readonly string[] | RegExp;

/** Ids, names and other words of Sallyport; nothing that could be anything else. */
export const idText = /^[A-Za-z0-9][A-Za-z0-9._:@+~/|-]{0,199}$/;
/** The id of a node of the identity graph. */
export const nodeText = /^[A-Za-z0-9][A-Za-z0-9._:@+~-]{0,199}$/;
/** The URI of a secret. */
export const uriText = /^[!-~]{1,1024}$/;
export const freeText = /^\P{Cc}{1,200}$/u;
/** How far back a list of decisions goes. */
export const spans = ["hour", "day", "week", "month"] as const;
/** A moment as a field for day and time writes it, without seconds, in the person's time zone. */
export const momentText = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}$/;
