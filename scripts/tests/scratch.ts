import { chmodSync, mkdtempSync, readdirSync, rmSync, statfsSync } from "node:fs";
import { freemem, tmpdir } from "node:os";
import { join } from "node:path";
import { isAlive } from "#store/is-alive.ts";

/** Files in memory, on Linux. */
const MEMORY = "/dev/shm";

const PREFIX = "sallyport-tests-";

/** Several times what a run has there at once. */
const SCRATCH_BYTES = 4 * 2 ** 30;

const hasPlace = (): boolean => {
  try {
    const { bavail, bsize } = statfsSync(MEMORY);
    return bavail * bsize >= SCRATCH_BYTES;
  } catch {
    return false;
  }
};

/** Removes what a run left that was ended by force. */
const sweep = (folder: string): void => {
  for (const name of readdirSync(folder)) {
    const pid = name.startsWith(PREFIX) ? Number(name.slice(PREFIX.length).split("-")[0]) : Number.NaN;
    if (!Number.isSafeInteger(pid) || isAlive(pid)) continue;
    try {
      rmSync(join(folder, name), { recursive: true, force: true });
    } catch {
      // Somebody else's: theirs to remove.
    }
  }
};

/**
 * An empty folder for all files of a run of tests, most of which are gone within seconds: data folders and whole databases. In memory where the
 * system offers that, a person names no other place (`TMPDIR`) and enough is left beside `reserved`, what the tests themselves need, in bytes:
 * to make and remove them on a disk costs a tenth of what the start of an instance does. Servers that run as another user may enter it.
 */
export const makeScratch = (reserved: number): string => {
  const isInMemory = process.env["TMPDIR"] === undefined && freemem() - reserved >= SCRATCH_BYTES && hasPlace();
  const place = isInMemory ? MEMORY : tmpdir();
  sweep(place);
  const folder = mkdtempSync(join(place, `${PREFIX}${process.pid}-`));
  chmodSync(folder, 0o711);
  return folder;
};
