import { Buffer } from "node:buffer";

/** What may be wrong with the key of a secret URI; `code` is the answer's, `at` counts UTF-16 units from the key's first. */
export interface KeyError {
  readonly code: "uri_key" | "uri_key_encoding" | "uri_too_long";
  readonly rule: string;
  readonly at: number;
}

const MAX_KEY_BYTES = 256;
/** What `encodeURI` leaves as it is, but for `?` and `#`. */
const PLAIN = /^[A-Za-z0-9._~/@:!$&'()*+,;=-]*$/;

/** Control, format and unassigned characters: invisible or without meaning, so two keys could look alike. */
const forbidden = /[\p{Cc}\p{Cf}\p{Cn}]/u;

/** The key as it is stored and its one canonical spelling. Cost: O(n). */
export const decodeKey = (raw: string): { readonly key: string; readonly canonical: string } | KeyError => {
  if (PLAIN.test(raw)) {
    if (raw.length > MAX_KEY_BYTES) return { code: "uri_too_long", rule: `a key has at most ${MAX_KEY_BYTES} bytes`, at: MAX_KEY_BYTES };
    return { key: raw, canonical: raw };
  }
  if (!raw.isWellFormed()) return { code: "uri_key_encoding", rule: "a key is well-formed Unicode", at: 0 };
  if (/%(?![0-9A-Fa-f]{2})/.test(raw))
    return { code: "uri_key_encoding", rule: "a percent sign begins two hex digits", at: raw.indexOf("%") };
  let key: string;
  try {
    key = decodeURIComponent(raw);
  } catch {
    return { code: "uri_key_encoding", rule: "a decoded key is UTF-8", at: 0 };
  }
  const unencoded = raw.search(/[ #]/);
  if (unencoded >= 0) return { code: "uri_key", rule: "a space and a number sign in a key are percent-encoded", at: unencoded };
  if (forbidden.test(key)) return { code: "uri_key", rule: "a key has no control, format or unassigned character", at: 0 };
  if (key.normalize("NFC") !== key) return { code: "uri_key", rule: "a key is in normal form C", at: 0 };
  if (Buffer.byteLength(key) > MAX_KEY_BYTES) return { code: "uri_too_long", rule: `a key has at most ${MAX_KEY_BYTES} bytes`, at: 0 };
  return { key, canonical: encodeKey(key) };
};

/** The canonical spelling: every byte outside the plain set as upper-case `%XX`. */
export const encodeKey = (key: string): string => encodeURI(key.toWellFormed()).replaceAll("?", "%3F").replaceAll("#", "%23");
