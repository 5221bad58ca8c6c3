import { readFile, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { isAlive } from "./is-alive.ts";
import { folderObstacle, makeFolder, unusable } from "./make-folder.ts";

/** Another living process works on the data folder. */
export class DataFolderLocked extends Error {
  override readonly name = "DataFolderLocked";
  /** Undefined where the holder could not be told. */
  readonly pid: number | undefined;
  constructor(folder: string, pid: number | undefined) {
    const holder = pid === undefined ? "another process" : `the process with id ${pid}`;
    super(`${folder} is in use by ${holder}. Stop it first, or choose another folder with --data.`);
    this.pid = pid;
  }
}

export interface DataFolderLock {
  release(): Promise<void>;
}

const SQLITE_BUSY = 5;

/** What is not released stays held as long as the process lives: a lock that nobody refers to must not go with the garbage. */
const held = new Set<DatabaseSync>();

/** Who says it holds the folder. A holder that has just begun has not said it yet; one that was killed says it still. */
const holderOf = async (note: string): Promise<number | undefined> => {
  for (let attempt = 0; attempt < 10; attempt++) {
    const text = await readFile(note, "utf8").catch(() => "");
    const pid = Number(/"pid": ?([0-9]+)/.exec(text)?.[1]);
    if (Number.isInteger(pid) && isAlive(pid)) return pid;
    await sleep(50);
  }
  return undefined;
};

const openLock = (folder: string): DatabaseSync => {
  try {
    return new DatabaseSync(join(folder, "lock.db"), { timeout: 0 });
  } catch (error) {
    throw unusable(folder, `lock.db: ${(error as Error).message}`);
  }
};

/** That another living process holds the folder; undefined where none does. Changes nothing. */
export const folderHolder = async (folder: string): Promise<DataFolderLocked | undefined> => {
  if ((await stat(join(folder, "lock.db")).catch(() => undefined)) === undefined) return undefined;
  try {
    const lock = await holdDataFolder(folder);
    await lock.release();
    return undefined;
  } catch (error) {
    if (error instanceof DataFolderLocked) return error;
    throw error;
  }
};

/**
 * Takes the data folder for this process, made where it is not there, or throws `DataFolderLocked` or `FolderError`. The lock is the operating system's, on
 * `<folder>/lock.db`, taken through SQLite, which does it alike on every system: it ends with the process however that
 * ends, so there is no stale lock to judge and to fight over. `<folder>/lock` only says who holds it.
 */
export const holdDataFolder = async (folder: string): Promise<DataFolderLock> => {
  await makeFolder(folder);
  const obstacle = await folderObstacle(folder);
  if (obstacle !== undefined) throw unusable(folder, obstacle);
  const note = join(folder, "lock");
  const database = openLock(folder);
  try {
    database.exec("pragma journal_mode = off; begin exclusive");
  } catch (error) {
    database.close();
    if ((error as { errcode?: number }).errcode === SQLITE_BUSY) throw new DataFolderLocked(folder, await holderOf(note));
    throw unusable(folder, `lock.db: ${(error as Error).message}`);
  }
  try {
    await writeFile(note, `${JSON.stringify({ pid: process.pid, startedAt: new Date().toISOString() })}\n`, { mode: 0o600 });
  } catch (error) {
    database.close();
    throw unusable(folder, (error as Error).message);
  }
  held.add(database);
  return {
    release: async () => {
      if (!database.isOpen) return;
      await rm(note, { force: true });
      held.delete(database);
      database.close();
    },
  };
};
