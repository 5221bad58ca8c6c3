import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { InteropCase } from "./interop-case.ts";
import { readOwnSet } from "./own-set.ts";
import { readPublishedSet } from "./published-set.ts";

export interface InteropSets {
  readonly cases: readonly InteropCase[];
  /** Files that hold no cases, and why. */
  readonly left: readonly { readonly file: string; readonly why: string }[];
}

/** Every set of a folder: published ones (`.json`) as they are, our own (`.yaml`). Folders inside it are not looked at. */
export const readSets = async (folder: string): Promise<InteropSets> => {
  const cases: InteropCase[] = [];
  const left: { file: string; why: string }[] = [];
  for (const file of (await readdir(folder)).filter((name) => /\.(?:json|yaml)$/.test(name)).toSorted()) {
    const text = await readFile(join(folder, file), "utf8");
    const read = file.endsWith(".yaml") ? readOwnSet(file, text) : readPublishedSet(file, JSON.parse(text) as unknown);
    if (typeof read === "string") left.push({ file, why: read });
    else cases.push(...read);
  }
  return { cases, left };
};
