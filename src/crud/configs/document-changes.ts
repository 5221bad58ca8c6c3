import { isDeepStrictEqual } from "node:util";
import { isObject } from "#contract/is-object.ts";
import { shownPointer } from "#contract/json-pointer.ts";

/** Where two documents differ: the smallest parts that were added, removed or replaced. */
export interface DocumentChange {
  readonly path: string;
  readonly op: "add" | "remove" | "replace";
  readonly before?: unknown;
  readonly after?: unknown;
}

/** Members by name, long ones shortened in paths, items of a list by their place; in the order of the earlier document, what is new behind it. Cost: O(both). */
export function* documentChanges(before: unknown, after: unknown, at: readonly PropertyKey[] = []): Generator<DocumentChange> {
  const both = [before, after];
  if (both.every(isObject) || both.every(Array.isArray)) {
    const [had, has] = [new Map(Object.entries(before as object)), new Map(Object.entries(after as object))];
    for (const key of new Set([...had.keys(), ...has.keys()])) {
      const path = [...at, key];
      if (!has.has(key)) yield { path: shownPointer(path), op: "remove", before: had.get(key) };
      else if (!had.has(key)) yield { path: shownPointer(path), op: "add", after: has.get(key) };
      else yield* documentChanges(had.get(key), has.get(key), path);
    }
  } else if (!isDeepStrictEqual(before, after)) yield { path: shownPointer(at), op: "replace", before, after };
}
