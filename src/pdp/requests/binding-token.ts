import { createSecretKey } from "node:crypto";
import { jwtVerify, SignJWT } from "jose";
import { z } from "zod";
import { shownCall, type ShownCall } from "#contract/access-requests.ts";
import { createSealer, deriveKey, type InstanceSecrets, type Sealer } from "#authn/sealing/seal.ts";
import { textOfCall } from "#pdp/engine/act-binding.ts";

/** What a denial lets be asked for: itself, until then. */
export interface Bound {
  readonly evaluationId: string;
  /** Digest of the act under its definition and policies. */
  readonly binding: string;
  /** What who answers will be shown; sealed on its way, so that nothing between here and there can write it down. */
  readonly call?: ShownCall;
  readonly expiresAt: Date;
}

/** The signature that a denial carries and a request brings back. Only this service reads it, so the key is a shared one. */
export interface BindingTokens {
  sign(bound: Bound): Promise<string>;
  /** `undefined`: not ours, altered, or too old. */
  read(token: string, now: Date): Promise<Bound | undefined>;
}

const TYPE = "access-request-binding+jwt";
const claims = z.object({ jti: z.string(), binding: z.string(), call: z.string().optional(), exp: z.number() });

/** A call at rest and on its way. `associated` ties it to its request or its denial. */
export const sealCall = (sealer: Sealer, call: ShownCall, associated: string): Uint8Array => sealer.seal(textOfCall(call), associated);
/** `undefined`: altered, moved, or sealed under a secret that is not here. */
export const openShownCall = (sealer: Sealer, sealed: Uint8Array, associated: string): ShownCall | undefined => {
  const text = sealer.open(sealed, associated);
  return text === undefined ? undefined : shownCall.parse(JSON.parse(text));
};

export const createBindingTokens = (secrets: InstanceSecrets): BindingTokens => {
  const [writer, ...others] = secrets.map((secret) => createSecretKey(deriveKey(secret, "pdp.requests")));
  if (writer === undefined) throw new RangeError("at least one secret");
  const keys = [writer, ...others];
  const sealer = createSealer(secrets, "pdp.requests.denied");
  return {
    sign: ({ evaluationId, binding, call, expiresAt }) =>
      new SignJWT({
        binding,
        ...(call === undefined ? {} : { call: Buffer.from(sealCall(sealer, call, evaluationId)).toString("base64url") }),
      })
        .setProtectedHeader({ alg: "HS256", typ: TYPE })
        .setJti(evaluationId)
        .setExpirationTime(expiresAt)
        .sign(writer),
    read: async (token, now) => {
      for (const key of keys) {
        try {
          const { payload } = await jwtVerify(token, key, { algorithms: ["HS256"], typ: TYPE, currentDate: now, requiredClaims: ["exp"] });
          const { jti, binding, exp, call: sealed } = claims.parse(payload);
          const call = sealed === undefined ? undefined : openShownCall(sealer, Buffer.from(sealed, "base64url"), jti);
          return { evaluationId: jti, binding, call, expiresAt: new Date(exp * 1000) };
        } catch {
          // The next key, if there is one.
        }
      }
      return undefined;
    },
  };
};
