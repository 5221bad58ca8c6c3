import { readdir, readFile } from "node:fs/promises";

/** What is not there, or is a folder, is no document. */
export const documentText = (path: string): Promise<string | undefined> =>
  readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT" || error.code === "ENOTDIR" || error.code === "EISDIR") return undefined;
    throw error;
  });

/** Names of the YAML files in a folder. One that is not there holds none; one that cannot be read may hold all that serves, so that throws. */
export const yamlNames = async (folder: string): Promise<readonly string[]> => {
  const names = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return [];
    throw error;
  });
  return names.filter((name) => name.endsWith(".yaml")).toSorted();
};
