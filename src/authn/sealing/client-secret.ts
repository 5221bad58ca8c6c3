import { createHash, timingSafeEqual } from "node:crypto";
import { deriveKey, type InstanceSecrets } from "./seal.ts";

/** A client's secret of dev and test: derived from Sallyport secret, so that it is nowhere kept and each instance has its own. */
export const deriveClientSecret = (secrets: InstanceSecrets, clientId: string): string =>
  deriveKey(secrets[0], `authn.client-secret.v1 ${clientId}`).toString("base64url");

/** This deployment at its OpenID provider: as configured, or as the embedded issuer knows it. */
export const webClientOf = (
  config: { readonly oidcClientId: string; readonly oidcClientSecret?: string | undefined },
  secrets: InstanceSecrets,
): { readonly clientId: string; readonly clientSecret: string } => ({
  clientId: config.oidcClientId,
  clientSecret: config.oidcClientSecret ?? deriveClientSecret(secrets, config.oidcClientId),
});

/** SHA-256 of a secret, hex. Enough for secrets of 32 random bytes; not for passwords. */
export const secretDigest = (secret: string): string => createHash("sha256").update(secret).digest("hex");

/** Constant time. */
export const isSecret = (digest: string, given: string): boolean =>
  timingSafeEqual(Buffer.from(digest, "hex"), createHash("sha256").update(given).digest());

/** Client id and secret of `Authorization: Basic`, both form-encoded as RFC 6749 2.3.1 demands; `undefined` if it is not so. */
export const parseBasic = (header: string | null): { readonly clientId: string; readonly secret: string } | undefined => {
  const encoded = /^Basic +([A-Za-z0-9+/]+={0,2})$/i.exec(header ?? "")?.[1];
  if (encoded === undefined) return undefined;
  const text = Buffer.from(encoded, "base64").toString("utf8");
  const at = text.indexOf(":");
  if (at < 1) return undefined;
  try {
    const decode = (part: string): string => decodeURIComponent(part.replaceAll("+", " "));
    return { clientId: decode(text.slice(0, at)), secret: decode(text.slice(at + 1)) };
  } catch {
    return undefined;
  }
};
