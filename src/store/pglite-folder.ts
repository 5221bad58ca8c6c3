import { readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { FolderError, makeFolder } from "./make-folder.ts";

/** Major version of the PostgreSQL that PGlite is. */
const VERSION = "18";

/** The embedded database cannot work on its folder: which one, why, and what to do about it. */
export const brokenFolder = (folder: string, why: string): FolderError =>
  new FolderError(
    `The embedded database in ${folder} cannot be opened: ${why}. Nothing of it was removed or repaired. ` +
      "Put a copy of the data folder back in its place, or choose another one with --data.",
  );

const setAside = async (folder: string): Promise<void> => {
  const aside = join(folder, "../pg.cut-short");
  await rm(aside, { recursive: true, force: true });
  await rename(folder, aside).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "ENOENT") throw error;
  });
};

/**
 * Makes the folder ready to be opened; `opened` is to be called as soon as it was. PGlite takes whatever lacks a version
 * for a new place and writes over it: what is not empty and not a database is refused with `FolderError`, untouched. A
 * first opening that was cut short left a folder that never held a row: it is set aside as `pg.cut-short` and made anew. Not removed, for
 * somebody may have put a copy there since.
 */
export const prepareFolder = async (folder: string): Promise<{ opened(): Promise<void> }> => {
  const unfinished = join(folder, "../pg.unfinished");
  if ((await readFile(unfinished).catch(() => undefined)) !== undefined) await setAside(folder);
  await makeFolder(folder);
  const isNew = (await readdir(folder)).length === 0;
  if (isNew) await writeFile(unfinished, "", { mode: 0o600 });
  const version = isNew ? VERSION : (await readFile(join(folder, "PG_VERSION"), "utf8").catch(() => "")).trim();
  if (version !== VERSION)
    throw brokenFolder(
      folder,
      version === "" ? "it has no PG_VERSION" : `its PG_VERSION is ${JSON.stringify(version.slice(0, 20))}, not ${VERSION}`,
    );
  return { opened: () => rm(unfinished, { force: true }) };
};
