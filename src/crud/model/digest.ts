import { createHash, createHmac } from "node:crypto";
import { canonicalJson } from "#contract/canonical-json.ts";

/** RFC 8785 text of a JSON value: equal values, equal bytes. */
export const canonicalText = (value: unknown): string => {
  const text = canonicalJson(value);
  if (text === undefined) throw new TypeError("not a JSON value");
  return text;
};

/** SHA-256 over RFC 8785, hex. For what is public anyway: definitions, revisions. */
export const sha256Of = (value: unknown): string => createHash("sha256").update(canonicalText(value)).digest("hex");

/** HMAC-SHA-256 over RFC 8785, hex. For contents (arguments, outputs): a plain hash of a small value tells the value. */
export const keyedDigest = (key: Uint8Array, value: unknown): string =>
  createHmac("sha256", key).update(canonicalText(value)).digest("hex");
