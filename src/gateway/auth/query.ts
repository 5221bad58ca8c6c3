import type { z } from "zod";
import { Problem } from "#contract/problem.ts";
import { queryIssuesOf } from "#contract/shape-issues.ts";

/** Query parameters, each at most once. Throws `ambiguous_query`. */
export const queryOf = (query: string): Readonly<Record<string, string>> => {
  const seen: Record<string, string> = {};
  for (const [name, value] of new URLSearchParams(query)) {
    if (Object.hasOwn(seen, name)) throw new Problem("ambiguous_query", { errors: [{ path: `query.${name}`, message: "is given twice" }] });
    Object.defineProperty(seen, name, { value, enumerable: true });
  }
  return seen;
};

/** The same, held against a shape. Throws `invalid_query` with every issue. */
export const parseQuery = <T extends z.ZodType>(shape: T, query: string): z.output<T> => {
  const read = shape.safeParse(queryOf(query));
  if (read.success) return read.data;
  throw new Problem("invalid_query", { errors: queryIssuesOf(read.error) });
};
