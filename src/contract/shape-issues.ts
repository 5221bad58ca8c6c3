import type { z } from "zod";
import { shownPointer } from "./json-pointer.ts";
import type { Issue } from "./problem.ts";

/** As a shape reports it: a `ZodError`, or one that a check of our own put together. */
interface Missed {
  readonly issues: readonly (z.core.$ZodIssue | { readonly code?: undefined; readonly path: PropertyKey[]; readonly message: string })[];
}

const UNKNOWN = "is not known here";
/** As the validator says that a member is lacking, where the shape has no words of its own. */
const LACKING = /^Invalid input: expected .*, received undefined$/;

/** A place in a value, as an issue names it: `/` is the whole. */
export const placeOf = (path: readonly PropertyKey[]): string => (path.length === 0 ? "/" : shownPointer(path));

/** One way in which a value misses its shape. Of a member that is not known it is the member's own path, with `isKey`. */
export interface Miss {
  readonly path: readonly PropertyKey[];
  readonly message: string;
  readonly isKey: boolean;
  /** Of a value that is none of the few that there are, where the shape says so in no words of its own. */
  readonly values?: readonly string[];
}

/** Of several shapes that a value may have, the one that it misses least is meant. */
const nearestOf = (shapes: readonly (readonly z.core.$ZodIssue[])[]): readonly Miss[] =>
  shapes.map((issues) => missesOf({ issues })).toSorted((one, other) => one.length - other.length)[0] ?? [];

/** Every way in which a value misses its shape: unknown members are named each. */
export const missesOf = (error: Missed): readonly Miss[] =>
  error.issues.flatMap((issue): readonly Miss[] => {
    if (issue.code === "unrecognized_keys") return issue.keys.map((key) => ({ path: [...issue.path, key], message: UNKNOWN, isKey: true }));
    // One that says in its own words what it takes has said it all.
    const nearest = issue.code === "invalid_union" && issue.message === "Invalid input" ? nearestOf(issue.errors) : [];
    if (nearest.length > 0) return nearest.map((miss) => ({ ...miss, path: [...issue.path, ...miss.path] }));
    const isOneOf = issue.code === "invalid_value" && issue.message.startsWith("Invalid ");
    return [
      {
        path: issue.path,
        message: LACKING.test(issue.message) ? "is required" : issue.message,
        isKey: false,
        ...(isOneOf ? { values: issue.values.map(String) } : {}),
      },
    ];
  });

const issueAt = (path: string, { message, isKey }: Miss): Issue => ({ path, message, ...(isKey ? { code: "unknown" } : {}) });

/** What is wrong with a body, or with the part of it at `under`: by JSON Pointer. */
export const issuesOf = (error: Missed, under: readonly PropertyKey[] = []): Issue[] =>
  missesOf(error).map((miss) => issueAt(placeOf([...under, ...miss.path]), miss));

/** What is wrong with a query: by name, `query.limit`. */
export const queryIssuesOf = (error: Missed): Issue[] => missesOf(error).map((miss) => issueAt(["query", ...miss.path].join("."), miss));
