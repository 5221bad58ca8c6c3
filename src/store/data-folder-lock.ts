import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { isAlive } from "./is-alive.ts";

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

/**
 * Takes the data folder for this process, or throws `DataFolderLocked`. The lock is the operating system's, on
 * `<folder>/lock.db`, taken through SQLite, which does it alike on every system: it ends with the process however that
 * ends, so there is no stale lock to judge and to fight over. `<folder>/lock` only says who holds it.
 */
export const holdDataFolder = async (folder: string): Promise<DataFolderLock> => {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const note = join(folder, "lock");
  const database = new DatabaseSync(join(folder, "lock.db"), { timeout: 0 });
  try {
    database.exec("pragma journal_mode = off; begin exclusive");
  } catch (error) {
    database.close();
    if ((error as { errcode?: number }).errcode === SQLITE_BUSY) throw new DataFolderLocked(folder, await holderOf(note));
    throw error;
  }
  held.add(database);
  await writeFile(note, `${JSON.stringify({ pid: process.pid, startedAt: new Date().toISOString() })}\n`, { mode: 0o600 });
  return {
    release: async () => {
      if (!database.isOpen) return;
      await rm(note, { force: true });
      held.delete(database);
      database.close();
    },
  };
};
