import { randomBytes, randomUUID } from "node:crypto";
import { link, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";

const KEY_BYTES = 32;

const parse = (bytes: Buffer, file: string): Uint8Array => {
  if (bytes.length === KEY_BYTES) return bytes;
  const text = bytes.toString("utf8").trim();
  const key = /^[0-9a-fA-F]{64}$/.test(text) ? Buffer.from(text, "hex") : Buffer.from(text, "base64");
  if (key.length !== KEY_BYTES) throw new Error(`${file} must hold a key of 32 bytes: as they are, in hex or in base64`);
  return key;
};

/**
 * The key that wraps the keys of persons' references. Taken from `file`; without one made once at `<data>/keys/audit-kek`
 * in dev and test, and missing anywhere else (an Error). Losing it does not break the log, but sealed fields stay shut.
 */
export const keyEncryptionKey = async (options: {
  readonly file: string | undefined;
  readonly dataFolder: string;
  readonly mayMake: boolean;
}): Promise<Uint8Array> => {
  if (options.file !== undefined) return parse(await readFile(options.file), options.file);
  if (!options.mayMake) throw new Error("AUDIT_KEK_FILE must name a file with a key of 32 bytes");
  const file = join(options.dataFolder, "keys", "audit-kek");
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
