import { access, constants, mkdir, stat, statfs } from "node:fs/promises";
import { dirname } from "node:path";

/** A folder that cannot be made, entered or used: one sentence for a person. */
export class FolderError extends Error {
  override readonly name = "FolderError";
  /** sysexits.h: cannot create. */
  readonly exitCode = 73;
}

/** File systems that hold what the kernel says of itself, and no file of anybody's (statfs(2)): proc and sysfs. */
const kernelsOwn: ReadonlySet<number> = new Set([0x9fa0, 0x62656572]);

const obstacles: Readonly<Record<string, (at: string) => string>> = {
  EACCES: (at) => `this user may not write in ${at}`,
  EPERM: (at) => `this user may not write in ${at}`,
  EROFS: (at) => `${at} lies on a read-only file system`,
  ENOSPC: (at) => `there is no space left where ${at} lies`,
  ENOENT: (at) => `the system keeps no files in ${at}`,
  ENOTDIR: (at) => `${at} is no folder`,
  EEXIST: (at) => `${at} is no folder`,
  ENAMETOOLONG: () => "its name is too long",
};

const said = (error: unknown, at: string): string => {
  const { code = "", message } = error as { code?: string; message?: string };
  return obstacles[code]?.(at) ?? message ?? String(error);
};

/** The deepest part of the path that is there, and what is missing below it, from above. Throws where that cannot be seen. */
const partsOf = async (folder: string): Promise<{ readonly there: string; readonly missing: readonly string[] }> => {
  const missing: string[] = [];
  for (let at = folder; ; at = dirname(at)) {
    const stats = await stat(at).catch((error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT" || error.code === "ENOTDIR") return undefined;
      throw error;
    });
    if (stats?.isDirectory()) return { there: at, missing };
    if (stats !== undefined) throw new Error(`${at} is no folder`);
    if (dirname(at) === at) throw new Error(`${at} is not there`);
    missing.unshift(at);
  }
};

/** Why nothing can be kept in a folder, in words that follow a colon; undefined if nothing is seen to stand in the way. Changes nothing. */
export const folderObstacle = async (folder: string): Promise<string | undefined> => {
  try {
    const { there } = await partsOf(folder);
    if (kernelsOwn.has((await statfs(there)).type)) return `the system keeps no files in ${there}`;
    await access(there, constants.W_OK | constants.X_OK).catch((error: unknown) => {
      throw new Error(said(error, there));
    });
    return undefined;
  } catch (error) {
    return said(error, folder);
  }
};

const cannotBeMade = (folder: string, why: string): FolderError => new FolderError(`The folder ${folder} cannot be made: ${why}.`);

/** That nothing can be kept in a folder that is there. */
export const unusable = (folder: string, why: string): FolderError =>
  new FolderError(`The data folder ${folder} cannot be used: ${why}. Choose another one with --data.`);

/** What `makeFolder`, or whoever uses the folder then, would throw; undefined if nothing is seen to stand in the way. Changes nothing. */
export const folderIssue = async (folder: string): Promise<FolderError | undefined> => {
  const obstacle = await folderObstacle(folder);
  if (obstacle === undefined) return undefined;
  const isThere = await stat(folder).then(
    (stats) => stats.isDirectory(),
    () => false,
  );
  return isThere ? unusable(folder, obstacle) : cannotBeMade(folder, obstacle);
};

/**
 * Makes a folder and those above it, for its owner alone; one that is there stays as it is. Throws `FolderError`. Step by
 * step, for `mkdir` with `recursive` tries for ever where a parent is there and a child cannot be.
 */
export const makeFolder = async (folder: string): Promise<void> => {
  const { there, missing } = await partsOf(folder).catch((error: unknown) => {
    throw cannotBeMade(folder, said(error, folder));
  });
  let parent = there;
  for (const step of missing) {
    await mkdir(step, { mode: 0o700 }).catch(async (error: NodeJS.ErrnoException) => {
      // Another process made it in between.
      if (error.code === "EEXIST" && (await stat(step).catch(() => undefined))?.isDirectory()) return;
      throw cannotBeMade(folder, said(error, error.code === "EEXIST" ? step : parent));
    });
    parent = step;
  }
};
