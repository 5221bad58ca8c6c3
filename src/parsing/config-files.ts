import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { z } from "zod";
import type { Issue } from "#contract/problem.ts";
import { shapeIssues } from "./shape-issues.ts";
import { readYaml, type YamlDocument } from "./yaml-document.ts";

export interface ReadFile<T> {
  readonly yaml: YamlDocument;
  readonly value: T;
}

/** A file of this name in each of the folders that has one, in their order; with every issue of all of them. */
export const readConfigFiles = async <T>(
  folders: readonly string[],
  name: string,
  shape: z.ZodType<T>,
): Promise<{ readonly files: readonly ReadFile<T>[]; readonly issues: readonly Issue[] }> => {
  const files: ReadFile<T>[] = [];
  const issues: Issue[] = [];
  for (const path of folders.map((folder) => join(folder, name))) {
    let text: string;
    try {
      text = await readFile(path, "utf8");
    } catch (error) {
      const { code = "unknown" } = error as NodeJS.ErrnoException;
      if (code !== "ENOENT") issues.push({ path: "", message: `cannot be read (${code})`, file: path });
      continue;
    }
    const read = readYaml(text, path);
    issues.push(...read.issues);
    if (read.document === undefined) continue;
    const parsed = shape.safeParse(read.document.value);
    if (parsed.success) files.push({ yaml: read.document, value: parsed.data });
    else issues.push(...shapeIssues(read.document, parsed.error, { shape }));
  }
  return { files, issues };
};
