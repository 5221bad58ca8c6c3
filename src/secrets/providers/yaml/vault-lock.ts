import { randomBytes } from "node:crypto";
import { constants } from "node:fs";
import { open, readFile, rename, stat, unlink, utimes } from "node:fs/promises";
import { dirname } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { startInterval } from "#http/interval.ts";
import { Problem } from "#contract/problem.ts";
import { isAlive } from "#store/is-alive.ts";
import { makeFolder } from "#store/make-folder.ts";

export interface VaultLock extends AsyncDisposable {
  /** Throws `cas_mismatch` when somebody took the lock meanwhile: then nothing may be written. */
  requireHeld(): Promise<void>;
}

const STALE_MS = 10_000;
const HEARTBEAT_MS = 2000;

interface LockFile {
  readonly pid: number;
  readonly nonce: string;
}

const read = async (path: string): Promise<LockFile | undefined> => {
  try {
    const held = JSON.parse(
      await readFile(path, { encoding: "utf8", flag: constants.O_RDONLY | (constants.O_NONBLOCK ?? 0) }),
    ) as Partial<LockFile>;
    return typeof held.pid === "number" && typeof held.nonce === "string" ? { pid: held.pid, nonce: held.nonce } : undefined;
  } catch {
    return undefined;
  }
};

/** Stale = no heartbeat for a while and its process is gone; a lock without readable content only by age. */
const isStale = async (path: string): Promise<LockFile | "unreadable" | undefined> => {
  const stats = await stat(path).catch(() => undefined);
  if (stats === undefined || Date.now() - stats.mtimeMs < STALE_MS) return undefined;
  const held = await read(path);
  if (held === undefined) return "unreadable";
  return isAlive(held.pid) ? undefined : held;
};

/** Moves a stale lock aside; only one of several stealers succeeds, and a lock that changed hands is put back. */
const removeStale = async (path: string): Promise<void> => {
  const stale = await isStale(path);
  if (stale === undefined) return;
  const aside = `${path}.${randomBytes(8).toString("hex")}`;
  const moved = await rename(path, aside).then(
    () => true,
    () => false,
  );
  if (!moved) return;
  const taken = await read(aside);
  if (stale !== "unreadable" && taken?.nonce !== stale.nonce) await rename(aside, path).catch(() => undefined);
  else await unlink(aside).catch(() => undefined);
};

const tryCreate = async (path: string, nonce: string): Promise<boolean> => {
  const file = await open(path, "wx", 0o600).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "EEXIST") return undefined;
    throw new Problem("provider_unavailable", { cause: error });
  });
  if (file === undefined) return false;
  try {
    await file.writeFile(JSON.stringify({ pid: process.pid, nonce }), "utf8");
  } finally {
    await file.close();
  }
  return true;
};

/** Takes the lock file beside the secrets file. Throws `busy` (503) after 2 s. */
export const acquireVaultLock = async (options: {
  readonly path: string;
  /** Real time: locks are about other processes, which share no injected clock. */
  readonly waitMs?: number;
}): Promise<VaultLock> => {
  const { path, waitMs = 2000 } = options;
  const nonce = randomBytes(16).toString("hex");
  const deadline = performance.now() + waitMs;
  await makeFolder(dirname(path));
  while (!(await tryCreate(path, nonce))) {
    await removeStale(path);
    if (performance.now() >= deadline) throw new Problem("busy", { detail: "The secrets file is being written." });
    await sleep(20 + Math.random() * 20);
  }
  const work = (): Promise<void> => utimes(path, new Date(), new Date());
  const beat = startInterval({ everyMs: HEARTBEAT_MS, work, failed: () => undefined });
  const isHeld = async (): Promise<boolean> => (await read(path))?.nonce === nonce;
  return {
    requireHeld: async () => {
      if (!(await isHeld())) throw new Problem("cas_mismatch", { detail: "The lock of the secrets file was lost." });
    },
    [Symbol.asyncDispose]: async () => {
      await beat[Symbol.asyncDispose]();
      if (await isHeld()) await unlink(path).catch(() => undefined);
    },
  };
};
