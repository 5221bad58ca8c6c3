import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { InteropCase } from "./interop-case.ts";
import { readOwnSet } from "./own-set.ts";
import { isFacts, readPublishedSet } from "./published-set.ts";

export interface InteropSets {
  readonly cases: readonly InteropCase[];
  /** Files that hold no cases, and why; an issue unless they hold the facts of a scenario. */
  readonly left: readonly { readonly file: string; readonly why: string; readonly isIssue: boolean }[];
}

const parseOf = (file: string, text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new Error(`${file} is not JSON`, { cause });
  }
};

/** Every set of a folder: published ones (`.json`) as they are, our own (`.yaml`). Folders inside it are not looked at. */
export const readSets = async (folder: string): Promise<InteropSets> => {
  const cases: InteropCase[] = [];
  const left: InteropSets["left"][number][] = [];
  for (const file of (await readdir(folder)).filter((name) => /\.(?:json|yaml)$/.test(name)).toSorted()) {
    const text = await readFile(join(folder, file), "utf8");
    const value: unknown = file.endsWith(".json") ? parseOf(file, text) : undefined;
    if (isFacts(value)) {
      left.push({ file, why: "facts of a scenario", isIssue: false });
      continue;
    }
    const read = file.endsWith(".yaml") ? readOwnSet(file, text) : readPublishedSet(file, value);
    if (typeof read === "string") left.push({ file, why: read, isIssue: true });
    else cases.push(...read);
  }
  return { cases, left };
};
