import { Buffer } from "node:buffer";
import { createHmac, hkdfSync } from "node:crypto";
import { LRUCache } from "lru-cache";

/** What a reference is made from; the version of a secret stays outside. `key` is decoded. */
export interface ReferredSecret {
  /** Canonical, lower case. */
  readonly scheme: string;
  readonly mount: string;
  readonly segments: readonly string[];
  readonly key?: string;
}

/** A searchable name of a secret that says nothing of its path to who lacks the salt: `hr1.<kid>.<mac>`. */
export type ResourceRef = (tenant: string, secret: ReferredSecret) => string;

const LABEL = "resource_ref/v1";
const MIN_SALT_BYTES = 32;
const MAX_TENANT_KEYS = 1000;

/** Salt as it stands in the environment: text, or `base64:` or `hex:` and then bytes. Throws RangeError under 32 bytes. */
export const parseTenantSalt = (text: string): Buffer => {
  const [, form, digits] = /^(base64|hex):(.*)$/s.exec(text) ?? [];
  const salt = form === undefined ? Buffer.from(text, "utf8") : Buffer.from(digits ?? "", form as "base64" | "hex");
  const isWhole = form === "hex" ? salt.length * 2 === digits?.length : form !== "base64" || /^[A-Za-z0-9+/_-]+=*$/.test(digits ?? "");
  if (!isWhole) throw new RangeError(`is not ${form}`);
  if (salt.length < MIN_SALT_BYTES) throw new RangeError(`has ${salt.length} bytes, needs at least ${MIN_SALT_BYTES}`);
  return salt;
};

const count = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
};

/** Length and bytes, so that no two lists of parts give one text. */
const prefixed = (text: string): Buffer[] => [count(Buffer.byteLength(text, "utf8")), Buffer.from(text, "utf8")];

/**
 * Keyed by tenant (HKDF-SHA256 of the salt), so equal secrets of two tenants cannot be matched. Cost: one HMAC; tenant
 * keys are kept.
 */
export const createResourceRef = (parts: { readonly salt: Buffer; readonly kid: string }): ResourceRef => {
  const keys = new LRUCache<string, Buffer>({ max: MAX_TENANT_KEYS });
  const keyOf = (tenant: string): Buffer => {
    const held = keys.get(tenant);
    if (held !== undefined) return held;
    const made = Buffer.from(hkdfSync("sha256", parts.salt, Buffer.alloc(0), `${LABEL}/${tenant}`, 32));
    keys.set(tenant, made);
    return made;
  };
  return (tenant, secret) => {
    const message = Buffer.concat([
      ...prefixed(LABEL),
      ...prefixed(tenant),
      ...prefixed(secret.scheme),
      ...prefixed(secret.mount),
      count(secret.segments.length),
      ...secret.segments.flatMap(prefixed),
      Buffer.from([secret.key === undefined ? 0 : 1]),
      ...(secret.key === undefined ? [] : prefixed(secret.key)),
    ]);
    return `hr1.${parts.kid}.${createHmac("sha256", keyOf(tenant)).update(message).digest("base64url")}`;
  };
};
