import { Buffer } from "node:buffer";

/** What may be wrong with the key of a secret URI; `code` is the answer's, `at` counts UTF-16 units from the key's first. */
export interface KeyFault {
  readonly code: "uri_key" | "uri_key_encoding" | "uri_too_long";
  readonly rule: string;
  readonly at: number;
}

const MAX_KEY_BYTES = 256;
const PLAIN = new Uint8Array(256);
for (const code of Buffer.from("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._~/@:!$&'()*+,;=-")) PLAIN[code] = 1;

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
/** Control, format and unassigned characters: invisible or without meaning, so two keys could look alike. */
const forbidden = /[\p{Cc}\p{Cf}\p{Cn}]/u;

const hexDigit = (code: number): number => {
  if (code >= 0x30 && code <= 0x39) return code - 0x30;
  const lower = code | 0x20;
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : -1;
};

const isPlain = (raw: string): boolean => {
  for (let at = 0; at < raw.length; at++) {
    const code = raw.charCodeAt(at);
    if (code > 0x7f || PLAIN[code] === 0) return false;
  }
  return true;
};

/** One percent-decoding to bytes; what is not encoded counts as its UTF-8 bytes. */
const decodePercent = (raw: string): Buffer | KeyFault => {
  const encoded = Buffer.from(raw, "utf8");
  const bytes = Buffer.alloc(encoded.length);
  let length = 0;
  for (let at = 0; at < encoded.length; at++) {
    const byte = encoded[at] ?? 0;
    if (byte !== 0x25) {
      bytes[length++] = byte;
      continue;
    }
    const high = hexDigit(encoded[at + 1] ?? 0);
    const low = hexDigit(encoded[at + 2] ?? 0);
    if (high < 0 || low < 0) return { code: "uri_key_encoding", rule: "a percent sign begins two hex digits", at: raw.indexOf("%") };
    bytes[length++] = high * 16 + low;
    at += 2;
  }
  return bytes.subarray(0, length);
};

/** The key as it is stored and its one canonical spelling. Cost: O(n). */
export const decodeKey = (raw: string): { readonly key: string; readonly canonical: string } | KeyFault => {
  if (isPlain(raw)) {
    if (raw.length > MAX_KEY_BYTES) return { code: "uri_too_long", rule: `a key has at most ${MAX_KEY_BYTES} bytes`, at: MAX_KEY_BYTES };
    return { key: raw, canonical: raw };
  }
  if (!raw.isWellFormed()) return { code: "uri_key_encoding", rule: "a key is well-formed Unicode", at: 0 };
  const bytes = decodePercent(raw);
  if (!Buffer.isBuffer(bytes)) return bytes;
  let key: string;
  try {
    key = utf8.decode(bytes);
  } catch {
    return { code: "uri_key_encoding", rule: "a decoded key is UTF-8", at: 0 };
  }
  const unencoded = raw.search(/[ #]/);
  if (unencoded >= 0) return { code: "uri_key", rule: "a space and a number sign in a key are percent-encoded", at: unencoded };
  if (forbidden.test(key)) return { code: "uri_key", rule: "a key has no control, format or unassigned character", at: 0 };
  if (key.normalize("NFC") !== key) return { code: "uri_key", rule: "a key is in normal form C", at: 0 };
  if (bytes.length > MAX_KEY_BYTES) return { code: "uri_too_long", rule: `a key has at most ${MAX_KEY_BYTES} bytes`, at: 0 };
  return { key, canonical: encodeKey(key) };
};

/** The canonical spelling: every byte outside the plain set as upper-case `%XX`. */
export const encodeKey = (key: string): string => {
  if (isPlain(key)) return key;
  let text = "";
  for (const byte of Buffer.from(key, "utf8")) {
    text += PLAIN[byte] === 1 ? String.fromCharCode(byte) : `%${byte.toString(16).toUpperCase().padStart(2, "0")}`;
  }
  return text;
};
