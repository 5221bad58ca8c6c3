import { isRawNumber } from "./exact-numbers.ts";

/** Deepest nesting that is written; what people and services send is bounded far below where it is read. */
const DEEPEST = 1_000;
/** Up to so many names the insertion below is faster than `sort`, which turns every name into text first. */
const FEW = 32;
const MAX_NAMES = 2_000;
const MAX_NAME = 64;

/** What a text must hold to be written any differently from how it stands: quotes, backslashes, controls, and surrogates to look at. */
// oxlint-disable-next-line no-control-regex -- JSON escapes exactly these
const SPECIAL = /["\\\u0000-\u001f\ud800-\udfff]/;

/**
 * A text as RFC 8785 writes it. Half a surrogate pair, which no UTF-8 can carry, is a TypeError, unless `mend` makes another text of
 * it; it is asked only about texts with something special in them.
 */
export const quoted = (text: string, mend?: (text: string) => string): string => {
  if (!SPECIAL.test(text)) return `"${text}"`;
  const whole = mend === undefined ? text : mend(text);
  if (!whole.isWellFormed()) throw new TypeError("half a surrogate pair has no canonical form");
  return JSON.stringify(whole);
};

/** Names of members are few and come again and again; beyond the bound they are quoted each time. */
const names = new Map<string, string>();

/** The name of a member with its colon, as RFC 8785 writes it. Throws as `quoted` does. */
export const quotedName = (name: string): string => {
  const held = names.get(name);
  if (held !== undefined) return held;
  const made = `${quoted(name)}:`;
  if (names.size < MAX_NAMES && name.length <= MAX_NAME) names.set(name, made);
  return made;
};

/** Names of an object's own members by UTF-16 code units, the order of RFC 8785. */
export const sortedNames = (value: object): readonly string[] => {
  const all = Object.keys(value);
  if (all.length > FEW) return all.sort();
  for (let at = 1; at < all.length; at++) {
    const name = all[at] as string;
    let to = at;
    for (; to > 0 && (all[to - 1] as string) > name; to--) all[to] = all[to - 1] as string;
    all[to] = name;
  }
  return all;
};

/**
 * The RFC 8785 text of a JSON value: equal values, equal bytes. A number that no double holds, of which the RFC does not speak, is its own
 * digits, as no double is written: two of different values never have the same text. What `JSON.stringify` leaves out is left out, and `toJSON` is asked,
 * as there; `undefined` for what is no value of JSON at all. Throws a TypeError for a number that is not finite, half a surrogate
 * pair or a bigint, and a RangeError for what is nested deeper than 1000, as a cycle is. Objects that stand for a number, a text or
 * a truth value are not known. Cost: one walk, about a microsecond for ten members; docs/adr/0016-canonical-json.md says why not a library.
 */
export const canonicalJson = (value: unknown): string | undefined => write(value, 0);

const write = (value: unknown, depth: number): string | undefined => {
  if (typeof value === "string") return quoted(value);
  if (typeof value === "number") {
    if (!Number.isFinite(value)) throw new TypeError("a number that is not finite has no canonical form");
    return String(value);
  }
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  if (isRawNumber(value)) return value.rawJSON;
  if (depth > DEEPEST) throw new RangeError("a value is nested too deeply for a canonical form");
  const members = value as Readonly<Record<string, unknown>>;
  if (typeof members["toJSON"] === "function") return write((value as { toJSON(): unknown }).toJSON(), depth + 1);
  let text = "";
  if (Array.isArray(value)) {
    for (let at = 0; at < value.length; at++) text += (at === 0 ? "[" : ",") + (write(value[at], depth + 1) ?? "null");
    return text === "" ? "[]" : `${text}]`;
  }
  for (const name of sortedNames(value)) {
    const written = write(members[name], depth + 1);
    if (written !== undefined) text += (text === "" ? "{" : ",") + quotedName(name) + written;
  }
  return text === "" ? "{}" : `${text}}`;
};
