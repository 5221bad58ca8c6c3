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
/**
 * What no value of JSON may have here, at whatever depth: a member of such a name, or half a surrogate pair, which has no canonical form.
 * Cost: one walk, which stops between its members.
 */
export const unfitSteps = function* (value: unknown): Generator<void, string | undefined> {
  if (typeof value !== "object" || value === null) return undefined;
  const isList = Array.isArray(value);
  for (const [name, item] of Object.entries(value)) {
    if (!isList && NAME.test(name)) return "A member has a name that every object has, such as __proto__: no attribute is called so.";
    if (!name.isWellFormed() || (typeof item === "string" && !item.isWellFormed())) return "The body holds half a surrogate pair.";
    const unfit = typeof item === "object" ? yield* unfitSteps(item) : undefined;
    if (unfit !== undefined) return unfit;
    yield;
  }
  return undefined;
};
