import { randomUUID } from "node:crypto";
import { execFile } from "node:child_process";
import { link, mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";

/** Another living process works on the data folder. */
export class DataFolderLocked extends Error {
  override readonly name = "DataFolderLocked";
  readonly pid: number;
  constructor(folder: string, pid: number) {
    super(`${folder} is in use by the process with id ${pid}. Stop it first, or choose another folder with --data.`);
    this.pid = pid;
  }
}

export interface DataFolderLock {
  release(): Promise<void>;
}

interface Held {
  readonly pid: number;
  readonly nonce: string;
  /** RFC 3339; when the lock was taken. */
  readonly startedAt: string;
}

const isHeld = (value: unknown): value is Held => {
  const held = value as Partial<Held> | null;
  return Number.isInteger(held?.pid) && typeof held?.nonce === "string" && typeof held.startedAt === "string";
};

const read = async (file: string): Promise<Held | undefined> => {
  try {
    const value: unknown = JSON.parse(await readFile(file, "utf8"));
    return isHeld(value) ? value : undefined;
  } catch {
    return undefined;
  }
};

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as { code?: string }).code === "EPERM";
  }
};

/** When a process began, in ms since 1970; undefined where the system does not tell. */
const processStart = async (pid: number): Promise<number | undefined> => {
  if (pid === process.pid) return performance.timeOrigin;
  try {
    if (process.platform === "linux") {
      const [stat, uptime] = await Promise.all([readFile(`/proc/${pid}/stat`, "utf8"), readFile("/proc/uptime", "utf8")]);
      // After the name in parentheses; the start is field 22, in hundredths of a second since boot.
      const ticks = Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19]);
      return Date.now() - (Number(uptime.split(" ")[0]) - ticks / 100) * 1000;
    }
    const { stdout } = await promisify(execFile)("ps", ["-o", "lstart=", "-p", String(pid)], { env: { ...process.env, LC_ALL: "C" } });
    const began = Date.parse(stdout.trim());
    return Number.isNaN(began) ? undefined : began;
  } catch {
    return undefined;
  }
};

const CLOCK_SLACK_MS = 5_000;

/**
 * The holder of a lock began before it took it. So a lock is stale when its process is gone, or when the process of that
 * id began later: ids are used again, after a restart of the machine or in a container.
 */
const isStale = async (held: Held): Promise<boolean> => {
  if (!isAlive(held.pid)) return true;
  const began = await processStart(held.pid);
  return began !== undefined && began > Date.parse(held.startedAt) + CLOCK_SLACK_MS;
};

/**
 * Takes `<folder>/lock` for this process, or throws `DataFolderLocked`. The file appears whole (by a hard link), so no
 * reader sees half of it, and only one of several that start at once gets it.
 */
export const holdDataFolder = async (folder: string): Promise<DataFolderLock> => {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const file = join(folder, "lock");
  const mine: Held = { pid: process.pid, nonce: randomUUID(), startedAt: new Date().toISOString() };
  const draft = join(folder, `lock.${mine.nonce}`);
  await writeFile(draft, `${JSON.stringify(mine)}\n`, { mode: 0o600, flag: "wx" });
  try {
    for (let attempt = 0; attempt < 5; attempt++) {
      const taken = await link(draft, file).then(
        () => true,
        (error: { code?: string }) => {
          if (error.code === "EEXIST") return false;
          throw error;
        },
      );
      if (taken) return { release: () => release(file, mine.nonce) };
      const held = await read(file);
      if (held !== undefined && !(await isStale(held))) throw new DataFolderLocked(folder, held.pid);
      await setAside(file, held, `${draft}.stale`);
    }
    throw new Error(`the lock of ${folder} could not be taken`);
  } finally {
    await rm(draft, { force: true });
  }
};

/** Moves a stale lock away; if meanwhile somebody else's fresh one stood there, it is put back. */
const setAside = async (file: string, stale: Held | undefined, aside: string): Promise<void> => {
  await rename(file, aside).catch(() => undefined);
  const moved = await read(aside);
  if (moved !== undefined && moved.nonce !== stale?.nonce) await link(aside, file).catch(() => undefined);
  await rm(aside, { force: true });
};

const release = async (file: string, nonce: string): Promise<void> => {
  if ((await read(file))?.nonce === nonce) await rm(file, { force: true });
};
