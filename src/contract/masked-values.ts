import { MAX_SHOWN_BYTES } from "./access-requests.ts";
import { isRawNumber } from "./exact-numbers.ts";
import { pointerText } from "./json-pointer.ts";
import { secretSchemePattern } from "./secret-schemes.ts";
import { foldKey, secretParts, secretWords } from "./sensitive-keys.ts";

/**
 * Values made fit for the eyes of a second person: what opens something is hidden, by what its key is called, by what a schema
 * says of it, and by what it looks like.
 */

/** Stands where something was hidden; the pointers beside it say where, so that nobody passes it off as a value. */
export const HIDDEN = "[hidden]";

/** What is known of one place of a value beforehand. */
export interface Place {
  readonly isSecret: boolean;
  into(part: string): Place;
}

export interface Masked {
  readonly value: unknown;
  /** RFC 6901 pointers of what is hidden. */
  readonly masked: readonly string[];
}

const nowhere: Place = { isSecret: false, into: () => nowhere };
const words = new Set(secretWords);

/**
 * A token, a private key, credentials of a request or of an address, or the address of a secret. Each is linear in the text: a token is looked
 * for backwards from its first dot, and of credentials in an address only the first colon counts.
 */
const secretTexts: readonly RegExp[] = [
  /\.(?<=\beyJ[A-Za-z0-9_-]{5,}\.)[A-Za-z0-9_-]+\./,
  /-----BEGIN [A-Z ]+-----/,
  /\b(?:bearer|basic)\s+\S{8,}/i,
  /:\/\/[^\s/?#@:]*:[^\s/?#@]*@/,
  new RegExp(String.raw`\b(?:${secretSchemePattern}|(?:vault[a-z]*|kv2?|bao|openbao)(?:\+kv2)?)://`, "i"),
];

const isSecretKey = (key: string): boolean => {
  const folded = foldKey(key);
  return words.has(folded) || secretParts.some((part) => folded.includes(part));
};

/**
 * A copy of a JSON value without its secrets; equal values give equal copies. Time linear in its size. Once names and pointers are longer than
 * any call that is shown, everything else is hidden unread, and without a pointer: thousands of them may hold the same long name.
 */
export const maskValues = (value: unknown, place: Place = nowhere): Masked => {
  const masked: string[] = [];
  let left = MAX_SHOWN_BYTES;
  const hide = (at: string): string => {
    if (left > 0) masked.push(at);
    left -= at.length;
    return HIDDEN;
  };
  const walk = (item: unknown, at: string, known: Place): unknown => {
    if (known.isSecret || (typeof item === "string" && secretTexts.some((pattern) => pattern.test(item)))) return hide(at);
    // Persons read it, and what compares copies reads doubles.
    if (isRawNumber(item)) return item.rawJSON;
    if (typeof item !== "object" || item === null) return item;
    const next = (part: string, inner: unknown): unknown => walk(inner, at + pointerText([part]), known.into(part));
    if (Array.isArray(item)) return item.map((inner: unknown, index) => next(String(index), inner));
    return Object.fromEntries(
      Object.entries(item).map(([key, inner]) => {
        left -= key.length;
        return [key, left < 0 || isSecretKey(key) ? hide(at + pointerText([key])) : next(key, inner)];
      }),
    );
  };
  return { value: walk(value, "", place), masked };
};
