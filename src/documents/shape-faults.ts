import type { z } from "zod";
import type { Fault } from "#contract/problem.ts";
import { missesOf } from "#contract/shape-faults.ts";
import { nearestWord } from "./nearest-word.ts";
import type { YamlDocument } from "./yaml-document.ts";

/**
 * Every way in which a document's value, or the part of it at `under`, misses its shape, each at its place in the file. For an unknown
 * member the nearest of the `words` that are known is the hint.
 */
export const shapeFaults = (
  document: YamlDocument,
  error: z.ZodError,
  { under = [], words = [] }: { readonly under?: readonly PropertyKey[]; readonly words?: readonly string[] } = {},
): Fault[] =>
  missesOf({ issues: error.issues.map(insideUnion) }).map(({ path, message, isKey }) => {
    const hint = isKey ? nearestWord(String(path.at(-1)), words) : undefined;
    return document.fault([...under, ...path], message, {
      ...(isKey ? { code: "unknown", onKey: true } : {}),
      ...(hint === undefined ? {} : { hint: `did you mean ${hint}?` }),
    });
  });

/** What keeps a value from the branch of a union that it comes nearest to: the one that gets furthest into it. */
const insideUnion = (issue: z.core.$ZodIssue): z.core.$ZodIssue => {
  if (issue.code !== "invalid_union") return issue;
  const inner = issue.errors.toSorted((a, b) => (b[0]?.path.length ?? 0) - (a[0]?.path.length ?? 0))[0]?.[0];
  return inner === undefined ? issue : { ...inner, path: [...issue.path, ...inner.path] };
};
