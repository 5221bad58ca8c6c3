/**
 * Names that every object has without being given them. The library takes the names in filters, paths and members as the way to a value and
 * writes at its end: behind one of these lies what all objects of this process share.
 */
const names = Object.getOwnPropertyNames(Object.prototype).join("|");
const WORD = "[\\w$-]";

/** One of them, and something deeper behind it; also within a quoted text, for the library ends some texts sooner than they are meant to. */
const WAY = new RegExp(`(?<!${WORD})(?:${names})\\s*[.[]`, "i");
/** Whether a filter or a path would lead into what all objects share. */
export const leadsToShared = (text: string): boolean => WAY.test(text);

const NAME = new RegExp(`(?<!${WORD})(?:${names})(?!${WORD})`, "i");
/** Whether a value of JSON has a member of such a name, at whatever depth. Cost: one walk. */
export const namesShared = (value: unknown): boolean =>
  typeof value === "object" &&
  value !== null &&
  (Array.isArray(value) ? value.some(namesShared) : Object.entries(value).some(([name, item]) => NAME.test(name) || namesShared(item)));
