import { randomBytes, randomUUID } from "node:crypto";
import { chmod, link, mkdir, open, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import type { HouseSecrets } from "./seal.ts";

const BYTES = 32;

/** The house cannot start with the secret it found. The message says what to do; it never holds the secret. */
export class HouseSecretFault extends Error {
  override readonly name = "HouseSecretFault";
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
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
};

/**
 * The root secrets from which every key of the house is derived: those of SESSION_SECRETS, else (dev and test) the one in
 * `<data>/keys/house`, made at the first start and readable by its owner alone. Losing it ends all sessions and
 * signing keys; it opens everything that is sealed at rest, and no other takes its place unasked. Throws `HouseSecretFault`.
 */
export const readHouseSecrets = async (parts: {
  readonly given: readonly Uint8Array[];
  readonly dataFolder: string;
  readonly environment: "dev" | "test" | "production";
  /** Whether anything is kept already that a secret made now would not open. */
  readonly isSealed: () => Promise<boolean>;
}): Promise<HouseSecrets> => {
  const [first, ...rest] = parts.given;
  if (first !== undefined) return [first, ...rest];
  if (parts.environment === "production")
    throw new HouseSecretFault("SESSION_SECRETS must be set: 32 random bytes in base64, e.g. `openssl rand -base64 32`.");
  const folder = join(parts.dataFolder, "keys");
  const path = join(folder, "house");
  if ((await read(path)) === undefined) {
    if (await parts.isSealed())
      throw new HouseSecretFault(
        `${path} is missing, and the database holds what was sealed with it. Put it back from a backup of the folder. If it is lost for good, ` +
          `make another (openssl rand -base64 32 > ${path}): all sessions and signing keys then end, and the arguments kept with access requests stay shut.`,
      );
    await mkdir(folder, { recursive: true, mode: 0o700 });
    await make(path);
  }
  // A backup or a copy may have widened it.
  await chmod(path, 0o600);
  const secret = parseSecret((await read(path))?.trim() ?? "");
  if (secret === undefined)
    throw new HouseSecretFault(`${path} is damaged: it holds no 32 bytes in base64. Restore it, or remove it to lose all sessions.`);
  return [secret];
};
