import { createCipheriv, createDecipheriv, createHash, hkdfSync, randomBytes } from "node:crypto";

/** Root secrets of Sallyport, 32 bytes each: the first writes, all read, so that a secret can be changed without loss. */
export type InstanceSecrets = readonly [Uint8Array, ...Uint8Array[]];

/** Encrypts what is kept at rest. The associated data ties a value to its place: moved to another row it does not open. */
export interface Sealer {
  seal(plain: string, associated: string): Uint8Array;
  /** `undefined`: sealed under a secret that is not here, moved, or altered. */
  open(sealed: Uint8Array, associated: string): string | undefined;
}

const VERSION = 1;
const HEAD = 1 + 8;
const IV = 12;
const TAG = 16;

/** 32 bytes for one purpose, by HKDF-SHA-256; another purpose gives unrelated bytes. */
export const deriveKey = (secret: Uint8Array, purpose: string): Buffer => Buffer.from(hkdfSync("sha256", secret, "sallyport", purpose, 32));

/** AES-256-GCM under a key of this purpose. Layout: version, key id (8), nonce (12), tag (16), ciphertext. */
export const createSealer = (secrets: InstanceSecrets, purpose: string): Sealer => {
  const keys = secrets.map((secret) => {
    const key = deriveKey(secret, `${purpose}.v1`);
    return { key, id: createHash("sha256").update("sallyport.key-id").update(key).digest().subarray(0, 8) };
  });
  const writer = keys[0];
  if (writer === undefined) throw new RangeError("at least one secret");
  return {
    seal: (plain, associated) => {
      const iv = randomBytes(IV);
      const cipher = createCipheriv("aes-256-gcm", writer.key, iv).setAAD(Buffer.from(associated));
      const body = Buffer.concat([cipher.update(plain, "utf8"), cipher.final()]);
      return Buffer.concat([Buffer.from([VERSION]), writer.id, iv, cipher.getAuthTag(), body]);
    },
    open: (sealed, associated) => {
      const bytes = Buffer.from(sealed);
      if (bytes.length < HEAD + IV + TAG || bytes[0] !== VERSION) return undefined;
      const id = bytes.subarray(1, HEAD);
      const found = keys.find((candidate) => candidate.id.equals(id));
      if (found === undefined) return undefined;
      const decipher = createDecipheriv("aes-256-gcm", found.key, bytes.subarray(HEAD, HEAD + IV)).setAAD(Buffer.from(associated));
      decipher.setAuthTag(bytes.subarray(HEAD + IV, HEAD + IV + TAG));
      try {
        return decipher.update(bytes.subarray(HEAD + IV + TAG), undefined, "utf8") + decipher.final("utf8");
      } catch {
        return undefined;
      }
    },
  };
};
