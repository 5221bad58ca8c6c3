import type { z } from "zod";
import { Problem } from "#contract/problem.ts";

/** Query parameters, each at most once. Throws `ambiguous_query`. */
export const readQuery = (query: string): Readonly<Record<string, string>> => {
  const seen: Record<string, string> = {};
  for (const [name, value] of new URLSearchParams(query)) {
    if (Object.hasOwn(seen, name)) throw new Problem("ambiguous_query", { errors: [{ path: `query.${name}`, message: "is given twice" }] });
    Object.defineProperty(seen, name, { value, enumerable: true });
  }
  return seen;
};

/** The same, held against a shape. Throws `invalid_query` with every fault. */
export const parseQuery = <T extends z.ZodType>(shape: T, query: string): z.output<T> => {
  const read = shape.safeParse(readQuery(query));
  if (read.success) return read.data;
  throw new Problem("invalid_query", {
    errors: read.error.issues.flatMap((issue) =>
      issue.code === "unrecognized_keys"
        ? issue.keys.map((key) => ({ path: `query.${key}`, message: "is not known here" }))
        : [{ path: `query.${issue.path.join(".")}`, message: issue.message }],
    ),
  });
};
