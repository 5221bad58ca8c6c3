import { join } from "node:path";
import { configObjectKinds, type ConfigObjectKind } from "#contract/configs.ts";
import type { Issue } from "#contract/problem.ts";
import { documentText, yamlNames } from "#crud/documents/read-folder.ts";
import { referencesOf, type ReadReference } from "#crud/systems/load-systems.ts";
import { folderOf } from "./config-kind.ts";

/** A document of a configuration folder. */
export interface ConfigFile {
  readonly kind: ConfigObjectKind;
  readonly name: string;
  readonly text: string;
  readonly read: ReadReference;
  /** It counts for nothing: an earlier folder has one of its name. */
  readonly issue?: Issue;
}

/** Documents of a kind by name: of two with one name the first counts. */
const readMany = async (kind: ConfigObjectKind, folders: readonly string[]): Promise<readonly ConfigFile[]> => {
  const files: ConfigFile[] = [];
  for (const folder of folders) {
    const names = await yamlNames(folder);
    const earlier = new Set(files.map(({ name }) => name));
    for (const file of names) {
      const name = file.replace(/\.yaml$/, "");
      const text = await documentText(join(folder, file));
      if (text === undefined) continue;
      const message = `is a ${kind} that another folder has under this name; that one counts`;
      const issue = { path: "", message, file: join(folder, file), line: 1, column: 1 };
      files.push({ kind, name, text, read: referencesOf(folder), ...(earlier.has(name) ? { issue } : {}) });
    }
  }
  return files;
};

/** The one document of a kind: of the first folder alone, for the others only add to it. */
const readOne = async (kind: ConfigObjectKind, [first]: readonly string[]): Promise<readonly ConfigFile[]> => {
  const text = first === undefined ? undefined : await documentText(join(first, `${kind}.yaml`));
  return text === undefined ? [] : [{ kind, name: kind, text, read: async () => undefined }];
};

/** What lies in the configuration folders now, kind by kind. */
export const readConfigFolders = async (folders: readonly string[]): Promise<readonly ConfigFile[]> => {
  const files: ConfigFile[] = [];
  for (const kind of configObjectKinds) {
    const folder = folderOf(kind);
    const found =
      folder === undefined
        ? readOne(kind, folders)
        : readMany(
            kind,
            folders.map((one) => join(one, folder)),
          );
    files.push(...(await found));
  }
  return files;
};

/** A file that documents of the kind may refer to, in any of the folders. */
export const referencesOfAll =
  (folders: readonly string[], kind: ConfigObjectKind): ReadReference =>
  async (path) => {
    for (const folder of folders) {
      const text = await referencesOf(join(folder, folderOf(kind) ?? ""))(path);
      if (text !== undefined) return text;
    }
    return undefined;
  };
