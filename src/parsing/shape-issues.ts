import type { z } from "zod";
import type { Issue } from "#contract/problem.ts";
import { missesOf } from "#contract/shape-issues.ts";
import { knownMembers } from "./known-members.ts";
import { nearestWord } from "./nearest-word.ts";
import type { YamlDocument } from "./yaml-document.ts";

/** Most issues of one document: an issue has some kilobytes, and a document room for ten thousands of them. */
const MAX_ISSUES = 1000;

/**
 * Every way in which a document's value, or the part of it at `under`, misses its shape, each at its place in the file. For an unknown
 * member the nearest that the `shape` knows at its place is the hint, for a value the nearest of those that it may be.
 */
export const shapeIssues = (
  document: YamlDocument,
  error: z.ZodError,
  { under = [], shape }: { readonly under?: readonly PropertyKey[]; readonly shape?: z.ZodType } = {},
): Issue[] =>
  missesOf({ issues: error.issues.flatMap(insideUnion) })
    .slice(0, MAX_ISSUES)
    .map(({ path, message, isKey, values }) => {
      const place = [...under, ...path];
      const found = values === undefined ? undefined : place.reduce(memberOf, document.value);
      const known = isKey && shape !== undefined ? knownMembers(shape, path.slice(0, -1)) : [];
      const hint = isKey
        ? nearestWord(String(path.at(-1)), known)
        : typeof found === "string"
          ? nearestWord(found, values ?? [])
          : undefined;
      return document.issue(place, values === undefined ? message : `must be ${values.length > 1 ? "one of " : ""}${values.join(", ")}`, {
        ...(isKey ? { code: "unknown", onKey: true } : {}),
        ...(hint === undefined ? {} : { hint: `did you mean ${hint}?` }),
      });
    });

const memberOf = (value: unknown, name: PropertyKey): unknown =>
  typeof value === "object" && value !== null && Object.hasOwn(value, name) ? (value as Record<PropertyKey, unknown>)[name] : undefined;

/** How far into a value one branch of a union gets; one that names a member that it does not know has taken the holder for its own. */
const depthOf = (issues: readonly z.core.$ZodIssue[]): number =>
  Math.max(0, ...issues.map(({ code, path }) => path.length + (code === "unrecognized_keys" ? 1 : 0)));

/** What keeps a value from the branch of a union that it comes nearest to: the one that gets furthest into it. */
const insideUnion = (issue: z.core.$ZodIssue): readonly z.core.$ZodIssue[] => {
  if (issue.code !== "invalid_union") return [issue];
  const [inner = []] = issue.errors.toSorted((a, b) => depthOf(b) - depthOf(a));
  return inner.length === 0 ? [issue] : inner.map((one) => ({ ...one, path: [...issue.path, ...one.path] }));
};
