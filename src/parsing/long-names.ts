import type { Issue } from "#contract/problem.ts";
import type { YamlDocument } from "./yaml-document.ts";

/** Longest name of a member that a configuration document may have, characters. */
export const MAX_MEMBER_NAME = 256;

/** Paths of members with a longer name, each by itself: what lies below one is passed over. Cost: one walk. */
export function* longNamePaths(value: unknown, at: readonly string[] = []): Generator<readonly string[]> {
  if (typeof value !== "object" || value === null) return;
  for (const [name, inner] of Object.entries(value))
    if (name.length > MAX_MEMBER_NAME) yield [...at, name];
    else if (typeof inner === "object") yield* longNamePaths(inner, [...at, name]);
}

/** One issue for each member whose name is too long, at most `most`. */
export const longNames = (document: YamlDocument, value: unknown, max: number): readonly Issue[] =>
  longNamePaths(value)
    .take(max)
    .map((path) => document.issue(path, `has a name of more than ${MAX_MEMBER_NAME} characters`, { code: "too_long", onKey: true }))
    .toArray();
