import { randomBytes, scrypt, timingSafeEqual } from "node:crypto";

/** log2 of N: about 50 ms and 32 MiB a check. */
const COST = 15;
const BLOCK = 8;
const BYTES = 32;

const derive = (password: string, salt: Uint8Array, cost: number): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    scrypt(password.normalize("NFKC"), salt, BYTES, { N: 2 ** cost, r: BLOCK, p: 1, maxmem: 2 ** cost * BLOCK * 256 }, (error, key) =>
      error === null ? resolve(key) : reject(error),
    );
  });

/** `scrypt:<log2 N>:<salt>:<key>`, base64url. */
export const hashPassword = async (password: string, salt: Uint8Array = randomBytes(16)): Promise<string> =>
  `scrypt:${COST}:${Buffer.from(salt).toString("base64url")}:${(await derive(password, salt, COST)).toString("base64url")}`;

/** Constant time in the password. A hash that cannot be read matches nothing. */
export const isPassword = async (hash: string, given: string): Promise<boolean> => {
  const [, cost, salt, key] = /^scrypt:(1[0-9]|20):([\w-]{16,}):([\w-]{43})$/.exec(hash) ?? [];
  if (cost === undefined || salt === undefined || key === undefined) return false;
  const derived = await derive(given, Buffer.from(salt, "base64url"), Number(cost));
  return timingSafeEqual(derived, Buffer.from(key, "base64url"));
};
