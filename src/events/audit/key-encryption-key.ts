import { randomBytes, randomUUID } from "node:crypto";
import { link, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";

const KEY_BYTES = 32;

/** The key of the audit log cannot be had, or is another one. The message says what to do; it never holds the key. */
export class AuditKeyError extends Error {
  override readonly name = "AuditKeyError";
  /** sysexits.h: configuration. */
  readonly exitCode = 78;
}

export interface AuditKeyPlace {
  /** AUDIT_KEK_FILE. */
  readonly file: string | undefined;
  readonly dataFolder: string;
  readonly mayMake: boolean;
}

const madeIn = (dataFolder: string): string => join(dataFolder, "keys", "audit-kek");
/** Where it is, as a person would say it. */
const placeOf = ({ file, dataFolder }: AuditKeyPlace): string => (file === undefined ? madeIn(dataFolder) : `AUDIT_KEK_FILE: ${file}`);

const parse = (bytes: Buffer, place: string): Uint8Array => {
  if (bytes.length === KEY_BYTES) return bytes;
  const text = bytes.toString("utf8").trim();
  const key = /^[0-9a-fA-F]{64}$/.test(text) ? Buffer.from(text, "hex") : Buffer.from(text, "base64");
  if (key.length !== KEY_BYTES) throw new AuditKeyError(`${place} must hold a key of 32 bytes: as they are, in hex or in base64.`);
  return key;
};

/** The key as it is; undefined where the first start is to make one. Changes nothing. Throws `AuditKeyError`. */
export const findAuditKey = async (given: AuditKeyPlace): Promise<Uint8Array | undefined> => {
  if (given.file === undefined && !given.mayMake)
    throw new AuditKeyError("AUDIT_KEK_FILE must name a file with a key of 32 bytes, e.g. of `openssl rand -base64 32`.");
  try {
    return parse(await readFile(given.file ?? madeIn(given.dataFolder)), placeOf(given));
  } catch (error) {
    if (error instanceof AuditKeyError) throw error;
    const { code = "unknown" } = error as NodeJS.ErrnoException;
    if (given.file === undefined && (code === "ENOENT" || code === "ENOTDIR")) return undefined;
    throw new AuditKeyError(`${placeOf(given)} cannot be read (${code}).`);
  }
};

/** Entries about persons could neither be read nor continued. */
export const foreignAuditKey = (given: AuditKeyPlace): AuditKeyError =>
  new AuditKeyError(
    `The audit log was written under another key than that of ${given.file === undefined ? madeIn(given.dataFolder) : `AUDIT_KEK_FILE (${given.file})`}. ` +
      "Put the right key back from a backup of the folder; without it the log cannot be gone on with, and an instance starts on an empty database.",
  );

/**
 * The key that wraps the keys of persons' references. Taken from `file`; without one made once at `<data>/keys/audit-kek`
 * in dev and test, and missing anywhere else. Losing it does not break the log, but sealed fields stay shut. Throws `AuditKeyError`.
 */
export const keyEncryptionKey = async (given: AuditKeyPlace): Promise<Uint8Array> => {
  const found = await findAuditKey(given);
  if (found !== undefined) return found;
  const file = madeIn(given.dataFolder);
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  // The file appears whole: another process that starts now reads all of it or makes its own in vain.
  const draft = `${file}.${randomUUID()}`;
  await writeFile(draft, `${randomBytes(KEY_BYTES).toString("base64")}\n`, { mode: 0o600, flag: "wx" });
  try {
    await link(draft, file);
  } catch (error) {
    if ((error as { code?: string }).code !== "EEXIST") throw error;
  } finally {
    await rm(draft, { force: true });
  }
  return parse(await readFile(file), file);
};
