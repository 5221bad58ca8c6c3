import { z } from "zod";

/** Bodies of callers are bounded far below where they are read; this bounds what others answer. */
const DEEPEST = 500;

/**
 * What is wrong with a value of JSON that has no canonical form (RFC 8785), or `undefined`: half a surrogate pair, which no
 * UTF-8 can carry, a number beyond what a double holds, which `JSON.parse` makes Infinity, or nesting beyond all sense. Such
 * a value cannot be digested, recorded or sent on as it was. Cost: one walk.
 */
export const faultOfJson = (value: unknown, depth = 0): string | undefined => {
  if (typeof value === "string") return value.isWellFormed() ? undefined : "holds half a surrogate pair";
  if (typeof value === "number") return Number.isFinite(value) ? undefined : "holds a number that is too large";
  if (typeof value !== "object" || value === null) return undefined;
  if (depth > DEEPEST) return `is nested deeper than ${DEEPEST}`;
  if (Array.isArray(value)) {
    for (const item of value) {
      const fault = faultOfJson(item, depth + 1);
      if (fault !== undefined) return fault;
    }
    return undefined;
  }
  for (const [name, item] of Object.entries(value)) {
    const fault = name.isWellFormed() ? faultOfJson(item, depth + 1) : "holds half a surrogate pair";
    if (fault !== undefined) return fault;
  }
  return undefined;
};

/** An object of any members, each with a canonical form. */
export const jsonMembers = z.record(z.string(), z.unknown()).superRefine((members, context) => {
  const message = faultOfJson(members);
  if (message !== undefined) context.addIssue({ code: "custom", message });
});
