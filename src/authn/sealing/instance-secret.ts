import { randomBytes, randomUUID } from "node:crypto";
import { chmod, link, mkdir, open, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import type { InstanceSecrets } from "./seal.ts";

const BYTES = 32;

/** Sallyport cannot start with the secret it found. The message says what to do; it never holds the secret. */
export class InstanceSecretError extends Error {
  override readonly name = "InstanceSecretError";
  /** sysexits.h: configuration. */
  readonly exitCode = 78;
}

/** base64 or base64url of exactly 32 bytes. */
export const parseSecret = (text: string): Uint8Array | undefined => {
  if (!/^[A-Za-z0-9+/_-]{43}=?$/.test(text)) return undefined;
  const bytes = Buffer.from(text, "base64");
  return bytes.length === BYTES ? bytes : undefined;
};

const make = async (path: string): Promise<void> => {
  const draft = `${path}.${randomUUID()}`;
  const file = await open(draft, "wx", 0o600);
  try {
    await file.writeFile(`${randomBytes(BYTES).toString("base64")}\n`);
    await file.sync();
  } finally {
    await file.close();
  }
  // `link` never replaces: of two that start together one secret stays, and both read that one.
  await link(draft, path).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "EEXIST") throw error;
  });
  await rm(draft, { force: true });
};

const read = async (path: string): Promise<string | undefined> => {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    const { code = "unknown" } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    throw new InstanceSecretError(`${path} cannot be read (${code}).`);
  }
};

interface SecretPlace {
  readonly given: readonly Uint8Array[];
  readonly dataFolder: string;
  readonly environment: "dev" | "test" | "production";
}

const pathIn = (dataFolder: string): string => join(dataFolder, "keys", "instance");

/** The root secrets as they are; undefined where the first start is to make one. Changes nothing. Throws `InstanceSecretError`. */
export const findInstanceSecrets = async ({ given, dataFolder, environment }: SecretPlace): Promise<InstanceSecrets | undefined> => {
  const [first, ...rest] = given;
  if (first !== undefined) return [first, ...rest];
  if (environment === "production")
    throw new InstanceSecretError("SESSION_SECRETS must be set: 32 random bytes in base64, e.g. `openssl rand -base64 32`.");
  const path = pathIn(dataFolder);
  const text = await read(path);
  if (text === undefined) return undefined;
  const secret = parseSecret(text.trim());
  if (secret === undefined)
    throw new InstanceSecretError(`${path} is damaged: it holds no 32 bytes in base64. Restore it, or remove it to lose all sessions.`);
  return [secret];
};

const LOST =
  "If it is lost for good, make another (openssl rand -base64 32) and start on an empty database; on PostgreSQL `delete from authn.house_key` lets Sallyport go on with it: " +
  "all sessions and signing keys then end, and the arguments kept with access requests stay shut.";

/** Why a database that holds what other secrets sealed cannot be gone on with: none is there, or none that opens it. */
export const foreignSecret = (parts: SecretPlace & { readonly isMissing: boolean }): InstanceSecretError => {
  const path = pathIn(parts.dataFolder);
  if (parts.isMissing)
    return new InstanceSecretError(
      `${path} is missing, and the database holds what was sealed with it. Put it back from a backup of the folder. ${LOST}`,
    );
  return new InstanceSecretError(
    `${parts.given.length > 0 ? "SESSION_SECRETS holds no secret" : `${path} is not the secret`} under which the keys in this database were sealed. ` +
      `Put the right one back. To change it, name both for a while: SESSION_SECRETS=<new>,<old>. ${LOST}`,
  );
};

/**
 * The root secrets from which every key of Sallyport is derived: those of SESSION_SECRETS, else (dev and test) the one in
 * `<data>/keys/instance`, made at the first start and readable by its owner alone. Losing it ends all sessions and
 * signing keys; it opens everything that is sealed at rest, and no other takes its place unasked. Throws `InstanceSecretError`.
 */
export const readInstanceSecrets = async (
  parts: SecretPlace & {
    /** Whether anything is kept already that a secret made now would not open. */
    readonly isSealed: () => Promise<boolean>;
  },
): Promise<InstanceSecrets> => {
  const found = await findInstanceSecrets(parts);
  if (parts.given.length > 0 && found !== undefined) return found;
  const path = pathIn(parts.dataFolder);
  if (found === undefined) {
    if (await parts.isSealed()) throw foreignSecret({ ...parts, isMissing: true });
    await mkdir(join(parts.dataFolder, "keys"), { recursive: true, mode: 0o700 });
    await make(path);
  }
  // A backup or a copy may have widened it.
  await chmod(path, 0o600);
  const secrets = await findInstanceSecrets(parts);
  if (secrets === undefined) throw new InstanceSecretError(`${path} was removed while it was read.`);
  return secrets;
};
