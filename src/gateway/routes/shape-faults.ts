import type { z } from "zod";
import type { Fault } from "#contract/problem.ts";
import type { YamlSource } from "./yaml-source.ts";

/** Every way a file's value, or the part of it at `under`, misses its shape, each with its place in the file. */
export const shapeFaults = (error: z.ZodError, source: YamlSource, under: readonly PropertyKey[] = []): Fault[] =>
  error.issues.flatMap((found): Fault[] => {
    const issue = { ...found, path: [...under, ...found.path] };
    if (issue.code === "unrecognized_keys")
      return issue.keys.map((key) => ({
        path: `/${[...issue.path, key].map(String).join("/")}`,
        message: "is not known here",
        file: source.file,
        ...source.placeOfKey(issue.path, key),
      }));
    return [{ path: `/${issue.path.map(String).join("/")}`, message: issue.message, file: source.file, ...source.placeOf(issue.path) }];
  });
