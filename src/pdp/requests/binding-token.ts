import { createSecretKey } from "node:crypto";
import { jwtVerify, SignJWT } from "jose";
import { z } from "zod";
import { deriveKey, type HouseSecrets } from "#authn/seal.ts";

/** What a denial lets be asked for: itself, until then. */
export interface Bound {
  readonly evaluationId: string;
  /** Digest of the act under its definition and policies. */
  readonly binding: string;
  readonly expiresAt: Date;
}

/** The signature that a denial carries and a request brings back. Only this service reads it, so the key is a shared one. */
export interface BindingTokens {
  sign(bound: Bound): Promise<string>;
  /** `undefined`: not ours, altered, or too old. */
  read(token: string, now: Date): Promise<Bound | undefined>;
}

const TYPE = "access-request-binding+jwt";
const claims = z.object({ jti: z.string(), binding: z.string(), exp: z.number() });

export const createBindingTokens = (secrets: HouseSecrets): BindingTokens => {
  const [writer, ...others] = secrets.map((secret) => createSecretKey(deriveKey(secret, "pdp.requests")));
  if (writer === undefined) throw new RangeError("at least one secret");
  const keys = [writer, ...others];
  return {
    sign: ({ evaluationId, binding, expiresAt }) =>
      new SignJWT({ binding })
        .setProtectedHeader({ alg: "HS256", typ: TYPE })
        .setJti(evaluationId)
        .setExpirationTime(expiresAt)
        .sign(writer),
    read: async (token, now) => {
      for (const key of keys) {
        try {
          const { payload } = await jwtVerify(token, key, { algorithms: ["HS256"], typ: TYPE, currentDate: now, requiredClaims: ["exp"] });
          const { jti, binding, exp } = claims.parse(payload);
          return { evaluationId: jti, binding, expiresAt: new Date(exp * 1000) };
        } catch {
          // The next key, if there is one.
        }
      }
      return undefined;
    },
  };
};
