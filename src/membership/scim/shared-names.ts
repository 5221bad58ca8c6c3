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
/** Whether a value of JSON has a member of such a name, at whatever depth. Cost: one walk, which stops between its members. */
export const namesShared = function* (value: unknown): Generator<void, boolean> {
  if (typeof value !== "object" || value === null) return false;
  const isList = Array.isArray(value);
  for (const [name, item] of Object.entries(value)) {
    if ((!isList && NAME.test(name)) || (typeof item === "object" && (yield* namesShared(item)))) return true;
    yield;
  }
  return false;
};
