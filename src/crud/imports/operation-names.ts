import { createHash } from "node:crypto";
import { cutMarks } from "#contract/sensitive-keys.ts";
import { basePattern, MAX_NAME } from "#crud/model/names.ts";

/** Time linear in the text, which may be as long as its document. */
const wordsOf = (text: string): string =>
  cutMarks(text)
    .normalize("NFKD")
    .replaceAll(/([a-z0-9])([A-Z])/g, "$1_$2")
    .replaceAll(/([A-Z])(?=[A-Z][a-z])/g, "$1_")
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "_")
    .replaceAll(/^_+|_+$/g, "");

const hexOf = (key: string): string => createHash("sha256").update(key).digest("hex");

/** Cut at a word, so that suffix and all fit. */
const cut = (name: string, max: number): string => {
  if (name.length <= max) return name;
  const short = name.slice(0, max + 1);
  const word = short.lastIndexOf("_");
  return short.slice(0, word > max / 2 ? word : max).replace(/_+$/, "");
};

/**
 * Bases of a document's tools, by the operations' keys: the operation's id, or method and path, in snake_case. What is too long is cut at a word
 * and gets six hex of its key's SHA-256; of equal names all do. The same document gives the same names.
 */
export const operationNames = (
  operations: readonly { readonly key: string; readonly id: string | undefined }[],
  prefix: string,
): ReadonlyMap<string, string> => {
  const max = MAX_NAME - prefix.length;
  const named = operations.map(({ key, id }) => {
    const words = wordsOf(id ?? "") || wordsOf(key) || "operation";
    return { key, name: basePattern.test(words) ? words : `op_${words}` };
  });
  const counts = new Map<string, number>();
  for (const { name } of named) counts.set(name, (counts.get(name) ?? 0) + 1);
  const names = new Map<string, string>();
  const taken = new Set(named.flatMap(({ name }) => (counts.get(name) === 1 && name.length <= max ? [name] : [])));
  for (const { key, name } of named) {
    if (counts.get(name) === 1 && name.length <= max) {
      names.set(key, name);
      continue;
    }
    const hex = hexOf(key);
    let found = "";
    for (let digits = 6; found === "" || taken.has(found); digits += 2) found = `${cut(name, max - digits - 1)}_${hex.slice(0, digits)}`;
    taken.add(found);
    names.set(key, found);
  }
  return names;
};
