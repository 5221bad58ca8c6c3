import { Problem } from "#contract/problem.ts";

const PIECE_BYTES = 262_144;
const CHARSET = /;\s*charset\s*=\s*"?([\w.:+-]{1,40})/i;
const XML_ENCODING = /^<\?xml[^>]{0,200}?\sencoding\s*=\s*["']([\w.:+-]{1,40})/;

/** A byte order mark counts more than the media type, and that more than the text's own declaration (XML). */
const charsetOf = (bytes: Buffer, type: string): string => {
  const [first, second] = bytes;
  if (first === 0xfe && second === 0xff) return "utf-16be";
  if (first === 0xff && second === 0xfe) return "utf-16le";
  if (bytes.subarray(0, 3).equals(Buffer.of(0xef, 0xbb, 0xbf))) return "utf-8";
  return (CHARSET.exec(type) ?? XML_ENCODING.exec(bytes.toString("latin1", 0, 300)))?.[1] ?? "utf-8";
};

/**
 * The text of an answer by its charset, UTF-8 unless declared, without a byte order mark. It stops between pieces. Throws
 * `upstream_bad_response` for a charset that is not known, and for bytes that are not of it: no character is made up.
 */
export const decodeText = function* (bytes: Buffer, type: string): Generator<void, string> {
  const charset = charsetOf(bytes, type);
  let decoder: TextDecoder;
  try {
    decoder = new TextDecoder(charset, { fatal: true });
  } catch (cause) {
    throw new Problem("upstream_bad_response", { detail: `The answer's charset, ${charset}, is not known.`, cause });
  }
  try {
    const parts: string[] = [];
    for (let at = 0; at < bytes.byteLength; at += PIECE_BYTES) {
      parts.push(decoder.decode(bytes.subarray(at, at + PIECE_BYTES), { stream: true }));
      yield;
    }
    return parts.join("") + decoder.decode();
  } catch (cause) {
    throw new Problem("upstream_bad_response", { detail: `The answer is not text of its charset, ${charset}.`, cause });
  }
};
