import { scrypt, timingSafeEqual } from "node:crypto";

const BLOCK = 8;
const BYTES = 32;

const derive = (password: string, salt: Uint8Array, cost: number): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    scrypt(password.normalize("NFKC"), salt, BYTES, { N: 2 ** cost, r: BLOCK, p: 1, maxmem: 2 ** cost * BLOCK * 256 }, (error, key) =>
      error === null ? resolve(key) : reject(error),
    );
  });

/**
 * Constant time in the password; 50 ms and 32 MiB at 2^15. The hash is `scrypt:<log2 N>:<salt>:<key>`, base64url, of blocks of 8; one that cannot be
 * read matches nothing.
 */
export const isPassword = async (hash: string, given: string): Promise<boolean> => {
  const [, cost, salt, key] = /^scrypt:(1[0-9]|20):([\w-]{16,}):([\w-]{43})$/.exec(hash) ?? [];
  if (cost === undefined || salt === undefined || key === undefined) return false;
  const derived = await derive(given, Buffer.from(salt, "base64url"), Number(cost));
  return timingSafeEqual(derived, Buffer.from(key, "base64url"));
};
