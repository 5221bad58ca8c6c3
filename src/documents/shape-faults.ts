import type { z } from "zod";
import type { Fault } from "#contract/problem.ts";
import { missesOf } from "#contract/shape-faults.ts";
import { nearestWord } from "./nearest-word.ts";
import type { YamlDocument } from "./yaml-document.ts";

/**
 * Every way in which a document's value, or the part of it at `under`, misses its shape, each at its place in the file. For an unknown
 * member the nearest of the `words` that are known is the hint, for a value the nearest of those that it may be.
 */
export const shapeFaults = (
  document: YamlDocument,
  error: z.ZodError,
  { under = [], words = [] }: { readonly under?: readonly PropertyKey[]; readonly words?: readonly string[] } = {},
): Fault[] =>
  missesOf({ issues: error.issues.map(insideUnion) }).map(({ path, message, isKey, values }) => {
    const place = [...under, ...path];
    const found = values === undefined ? undefined : place.reduce(memberOf, document.value);
    const hint = isKey ? nearestWord(String(path.at(-1)), words) : typeof found === "string" ? nearestWord(found, values ?? []) : undefined;
    return document.fault(place, values === undefined ? message : `must be ${values.length > 1 ? "one of " : ""}${values.join(", ")}`, {
      ...(isKey ? { code: "unknown", onKey: true } : {}),
      ...(hint === undefined ? {} : { hint: `did you mean ${hint}?` }),
    });
  });

const memberOf = (value: unknown, name: PropertyKey): unknown =>
  typeof value === "object" && value !== null && Object.hasOwn(value, name) ? (value as Record<PropertyKey, unknown>)[name] : undefined;

/** What keeps a value from the branch of a union that it comes nearest to: the one that gets furthest into it. */
const insideUnion = (issue: z.core.$ZodIssue): z.core.$ZodIssue => {
  if (issue.code !== "invalid_union") return issue;
  const inner = issue.errors.toSorted((a, b) => (b[0]?.path.length ?? 0) - (a[0]?.path.length ?? 0))[0]?.[0];
  return inner === undefined ? issue : { ...inner, path: [...issue.path, ...inner.path] };
};
