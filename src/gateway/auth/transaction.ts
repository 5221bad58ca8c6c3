import { randomUUID } from "node:crypto";
import { EncryptJWT, jwtDecrypt } from "jose";
import { z } from "zod";
import { deriveKey, type InstanceSecrets } from "#authn/sealing/seal.ts";

/** What a sign-in under way must remember; the browser carries it, sealed. */
const shape = z.object({
  state: z.string(),
  nonce: z.string(),
  verifier: z.string(),
  return_to: z.string(),
  redirect_uri: z.string(),
  flow: z.enum(["login", "step_up"]),
  assurance: z.enum(["strong", "phishing_resistant"]).optional(),
  max_age: z.number().int().optional(),
  /** Hash of the session that this sign-in replaces: its strict cookie stays away when the provider sends the browser back. */
  replaces: z.string().optional(),
  jti: z.string(),
  iat: z.number(),
  exp: z.number(),
});
export type SignInTransaction = z.infer<typeof shape>;

export interface Transactions {
  seal(transaction: Omit<SignInTransaction, "jti" | "iat" | "exp">): Promise<string>;
  /** `undefined`: not ours, altered, or too old. */
  open(sealed: string): Promise<SignInTransaction | undefined>;
}

const LIFE_SECONDS = 600;

export const createTransactions = (secrets: InstanceSecrets, now: () => Date): Transactions => {
  const keys = secrets.map((secret) => deriveKey(secret, "gateway.transaction.v1"));
  return {
    seal: (transaction) => {
      const issuedAt = Math.floor(now().getTime() / 1000);
      return new EncryptJWT({ ...transaction, jti: randomUUID(), iat: issuedAt, exp: issuedAt + LIFE_SECONDS })
        .setProtectedHeader({ alg: "dir", enc: "A256GCM" })
        .encrypt(keys[0] as Buffer);
    },
    open: async (sealed) => {
      for (const key of keys) {
        const opened = await jwtDecrypt(sealed, key, {
          keyManagementAlgorithms: ["dir"],
          contentEncryptionAlgorithms: ["A256GCM"],
          currentDate: now(),
          clockTolerance: 0,
        }).catch(() => undefined);
        const read = shape.safeParse(opened?.payload);
        if (read.success) return read.data;
      }
      return undefined;
    },
  };
};
