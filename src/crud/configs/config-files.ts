import { join } from "node:path";
import type { Fault } from "#contract/problem.ts";
import { documentText, yamlNames } from "#crud/documents/read-folder.ts";
import { referencesOf, type ReadReference } from "#crud/systems/load-systems.ts";
import type { KindName } from "./held-object.ts";

/** A document of a configuration folder. */
export interface ConfigFile {
  readonly kind: KindName;
  readonly name: string;
  readonly text: string;
  readonly read: ReadReference;
  /** It counts for nothing: an earlier folder has one of its name. */
  readonly fault?: Fault;
}

/**
 * What lies in the configuration folders now: `systems/*.yaml` of each, of two with one name the first; `tools.yaml` of the first alone, for
 * the others only add to it.
 */
export const readConfigFolders = async (folders: readonly string[]): Promise<readonly ConfigFile[]> => {
  const files: ConfigFile[] = [];
  for (const folder of folders.map((one) => join(one, "systems"))) {
    const names = await yamlNames(folder);
    const earlier = new Set(files.map(({ name }) => name));
    for (const file of names) {
      const name = file.replace(/\.yaml$/, "");
      const text = await documentText(join(folder, file));
      if (text === undefined) continue;
      const message = "is a system that another folder has under this name; that one counts";
      const fault = { path: "", message, file: join(folder, file), line: 1, column: 1 };
      files.push({ kind: "system", name, text, read: referencesOf(folder), ...(earlier.has(name) ? { fault } : {}) });
    }
  }
  const [first] = folders;
  const tools = first === undefined ? undefined : await documentText(join(first, "tools.yaml"));
  if (tools !== undefined) files.push({ kind: "tools", name: "tools", text: tools, read: async () => undefined });
  return files;
};

/** A file that any of the folders' systems may refer to. */
export const referencesOfAll =
  (folders: readonly string[]): ReadReference =>
  async (path) => {
    for (const folder of folders) {
      const text = await referencesOf(join(folder, "systems"))(path);
      if (text !== undefined) return text;
    }
    return undefined;
  };
