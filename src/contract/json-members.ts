import { z } from "zod";
import { isRawNumber } from "./exact-numbers.ts";
import { isObject } from "./is-object.ts";

/** Bodies of callers are bounded far below where they are read; this bounds what others answer. */
const DEEPEST = 500;

const MORE_DIGITS = "holds a number that no double holds: send it as text, where text is taken";

/**
 * What is wrong with a value of JSON that has no canonical form (RFC 8785), or `undefined`: half a surrogate pair, which no
 * UTF-8 can carry, a number that no double holds, unless `keepsDigits`, or nesting beyond all sense. Such a value cannot be digested,
 * recorded or sent on as it was. Cost: one walk.
 */
export const issueOfJson = (value: unknown, keepsDigits = false, depth = 0): string | undefined => {
  if (typeof value === "string") return value.isWellFormed() ? undefined : "holds half a surrogate pair";
  if (typeof value === "number") return Number.isFinite(value) ? undefined : "holds a number that is too large";
  if (typeof value !== "object" || value === null) return undefined;
  if (isRawNumber(value)) return keepsDigits ? undefined : MORE_DIGITS;
  if (depth > DEEPEST) return `is nested deeper than ${DEEPEST}`;
  if (Array.isArray(value)) {
    for (const item of value) {
      const issue = issueOfJson(item, keepsDigits, depth + 1);
      if (issue !== undefined) return issue;
    }
    return undefined;
  }
  for (const [name, item] of Object.entries(value)) {
    const issue = name.isWellFormed() ? issueOfJson(item, keepsDigits, depth + 1) : "holds half a surrogate pair";
    if (issue !== undefined) return issue;
  }
  return undefined;
};

/** Whether a value is surely longer than `max` characters as JSON. Cost: by the member, and nothing of what comes after so many. */
export const isLongerThan = (value: unknown, max: number): boolean => {
  let left = max;
  const isOver = (item: unknown): boolean => {
    left -= typeof item === "string" ? item.length + 2 : 1;
    if (left < 0) return true;
    if (typeof item !== "object" || item === null) return false;
    if (Array.isArray(item)) return item.some(isOver);
    return Object.entries(item).some(([name, one]) => (left -= name.length + 3) < 0 || isOver(one));
  };
  return isOver(value);
};

const PROTO = "__proto__";

/**
 * An object whose members somebody else names. `z.record` leaves out a member `__proto__` without a word; here it is one that is not known.
 * A number that is stored as its text is none, though `z.record` would take it for one.
 */
export const recordOf = <Name extends z.ZodString, Value extends z.ZodType>(name: Name, value: Value): z.ZodRecord<Name, Value> =>
  z.preprocess(
    (given, context) => {
      if (isObject(given) && Object.hasOwn(given, PROTO)) context.addIssue({ code: "unrecognized_keys", keys: [PROTO], input: given });
      return isRawNumber(given) ? null : given;
    },
    z.record(name, value),
  ) as unknown as z.ZodRecord<Name, Value>;

/** Any members at all. */
export const anyMembers = recordOf(z.string(), z.unknown());

/** An object of any members, each with a canonical form. */
export const jsonMembers = anyMembers.superRefine((members, context) => {
  const message = issueOfJson(members);
  if (message !== undefined) context.addIssue({ code: "custom", message });
});
