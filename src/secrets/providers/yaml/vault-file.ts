import { createHash, randomBytes } from "node:crypto";
import { constants, type Stats } from "node:fs";
import { open, readdir, rename, unlink, type FileHandle } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { isAlive } from "#store/is-alive.ts";
import { makeFolder } from "#store/make-folder.ts";
import { VaultFileError } from "./vault-file-error.ts";

export const MAX_FILE_BYTES = 1_048_576;
/** No link is followed, and a pipe in the file's place is not waited for. */
const OPEN_FLAGS = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);

export interface VaultFileOptions {
  readonly path: string;
  /** dev and test: wrong permissions are corrected; elsewhere the file is refused. */
  readonly mayTighten: boolean;
  /** Nothing is changed: what would be corrected stays as it is. */
  readonly onlyLooks?: boolean;
  readonly warn: (message: string) => void;
}

export interface VaultBytes {
  readonly text: string;
  /** SHA-256, to see whether somebody else wrote meanwhile. */
  readonly digest: string;
}

const codeOf = (error: unknown): string | undefined => (error as NodeJS.ErrnoException).code;
export const digestOf = (bytes: Buffer | string): string => createHash("sha256").update(bytes).digest("hex");

const requireOwnRegular = async (file: FileHandle, options: VaultFileOptions): Promise<Stats> => {
  const stats = await file.stat();
  if (!stats.isFile()) throw new VaultFileError("is no regular file");
  if (stats.size > MAX_FILE_BYTES) throw new VaultFileError(`is larger than ${MAX_FILE_BYTES} bytes`);
  if (process.getuid === undefined) return stats;
  if (stats.uid !== process.getuid()) throw new VaultFileError("belongs to another user");
  if ((stats.mode & 0o177) !== 0) {
    if (!options.mayTighten) throw new VaultFileError("may be read or changed by others; its mode must be 0600");
    if (options.onlyLooks === true) return stats;
    await file.chmod(0o600);
    options.warn("secrets_file_tightened");
  }
  return stats;
};

/** Reads at most the bound, whatever the size said before. */
const readBounded = async (file: FileHandle): Promise<Buffer> => {
  const buffer = Buffer.alloc(MAX_FILE_BYTES + 1);
  let length = 0;
  while (length < buffer.length) {
    const { bytesRead } = await file.read(buffer, length, buffer.length - length, length);
    if (bytesRead === 0) break;
    length += bytesRead;
  }
  if (length > MAX_FILE_BYTES) throw new VaultFileError(`is larger than ${MAX_FILE_BYTES} bytes`);
  return buffer.subarray(0, length);
};

const utf8 = new TextDecoder("utf-8", { fatal: true });

/** Reads the file without following a link; `undefined` = not there. Throws `VaultFileError`. */
export const readVaultFile = async (options: VaultFileOptions): Promise<VaultBytes | undefined> => {
  let file: FileHandle;
  try {
    file = await open(options.path, OPEN_FLAGS);
  } catch (cause) {
    if (codeOf(cause) === "ENOENT") return undefined;
    if (codeOf(cause) === "ELOOP") throw new VaultFileError("is a symbolic link");
    throw new VaultFileError(`cannot be opened (${codeOf(cause) ?? "unknown"})`, { cause });
  }
  try {
    await requireOwnRegular(file, options);
    const bytes = await readBounded(file);
    return { text: utf8.decode(bytes), digest: digestOf(bytes) };
  } catch (cause) {
    if (cause instanceof VaultFileError) throw cause;
    if (cause instanceof TypeError) throw new VaultFileError("is not UTF-8", { cause });
    throw new VaultFileError(`cannot be read (${codeOf(cause) ?? "unknown"})`, { cause });
  } finally {
    await file.close();
  }
};

const syncFolder = async (folder: string): Promise<void> => {
  const handle = await open(folder, constants.O_RDONLY).catch(() => undefined);
  // Some systems cannot sync a folder; there the rename itself is all there is.
  await handle?.sync().catch(() => undefined);
  await handle?.close();
};

const temporaryName = /\.([0-9]+)\.[0-9a-f]{16}\.tmp$/;

/**
 * Puts the text in place: temporary file 0600, sync, `confirm` (throws if it must not happen), rename, sync of the
 * folder. After a crash the file is the old one or the new one, whole.
 */
export const replaceVaultFile = async (path: string, text: string, confirm: () => Promise<void>): Promise<void> => {
  const temporary = `${path}.${process.pid}.${randomBytes(8).toString("hex")}.tmp`;
  await makeFolder(dirname(path));
  const file = await open(temporary, "wx", 0o600);
  try {
    try {
      await file.writeFile(text, "utf8");
      await file.sync();
    } finally {
      await file.close();
    }
    await confirm();
    await rename(temporary, path);
  } catch (error) {
    await unlink(temporary).catch(() => undefined);
    throw error;
  }
  await syncFolder(dirname(path));
};

/** Removes temporary files that a killed process left: they hold secrets too. */
export const removeLeftovers = async (path: string): Promise<void> => {
  const names = await readdir(dirname(path)).catch(() => []);
  for (const name of names) {
    const pid = name.startsWith(`${basename(path)}.`) ? temporaryName.exec(name)?.[1] : undefined;
    if (pid !== undefined && !isAlive(Number(pid))) await unlink(join(dirname(path), name)).catch(() => undefined);
  }
};
