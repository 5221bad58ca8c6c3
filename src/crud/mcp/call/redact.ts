import { isRawNumber } from "#contract/exact-numbers.ts";

/** Takes the values of credentials out of everything that comes back, in the spellings in which an upstream might echo them. */

const REDACTED = "[redacted]";

/** Hexadecimal digits in either case, as a pattern. */
const anyCase = (hex: string): string => hex.replaceAll(/[a-f]/gi, (digit) => `[${digit.toLowerCase()}${digit.toUpperCase()}]`);
const hexOf = (bytes: Uint8Array | string): string => Buffer.from(bytes).toString("hex");

/** Backslashes before what is escaped: one, or as many as text has that was escaped up to three times. */
const ESCAPES = String.raw`\\{1,7}`;
const HTML: Readonly<Record<string, string>> = { "&": "amp", "<": "lt", ">": "gt", '"': "quot", "'": "apos" };
const LETTERS: Readonly<Record<string, string>> = { "\n": "n", "\r": "r", "\t": "t", "\b": "b", "\f": "f" };

/** A pattern of one character as it is, in percent form, escaped for JSON and escaped for HTML; each also when that was done more than once. */
const written = (char: string): string => {
  const point = (char.codePointAt(0) ?? 0).toString(16);
  const percent = (hexOf(char).match(/../g) ?? []).map((byte) => `%(?:25){0,2}${anyCase(byte)}`).join("");
  const units = char.split("").map((unit) => `${ESCAPES}u${anyCase(unit.charCodeAt(0).toString(16).padStart(4, "0"))}`);
  const names = HTML[char] === undefined ? "" : `|${HTML[char]}`;
  const letter = LETTERS[char] === undefined ? "" : `|${ESCAPES}${LETTERS[char]}`;
  const html = `&(?:amp;){0,2}(?:#0{0,4}${char.codePointAt(0)}|#[xX]0{0,4}${anyCase(point)}${names});`;
  return String.raw`(?:\\{0,7}\u{${point}}|${percent}|${units.join("")}|${html}${letter}${char === " " ? String.raw`|\+` : ""})`;
};
/** Backslashes that follow one another are one piece: were each to take as many as it likes, no two would agree which. */
const writtenAll = (text: string): string =>
  (text.match(/\\+|[^\\]/gsu) ?? [])
    .map((piece) => {
      if (!piece.startsWith("\\")) return written(piece);
      const others = String.raw`(?:%(?:25){0,2}5[cC]|&(?:amp;){0,2}#(?:0{0,4}92|[xX]0{0,4}5[cC]);|\\{1,7}u005[cC])`;
      return String.raw`(?:\\{${piece.length},${piece.length * 8}}|${others}{${piece.length}})`;
    })
    .join("");

/** Patterns of base64, in both alphabets, of what stands at any place of a longer text: without the digits that others share, but for the last. */
const base64At = (secret: string, offset: 0 | 1 | 2): string => {
  const bytes = Buffer.concat([Buffer.alloc(offset), Buffer.from(secret)]);
  const digits = bytes.toString("base64").slice(Math.ceil((offset * 4) / 3), Math.floor((bytes.length * 4) / 3));
  const own = digits.replaceAll(/[+/]/g, (digit) => (digit === "+" ? `(?:${written("+")}|-)` : `(?:${written("/")}|_)`));
  return bytes.length % 3 === 0 ? own : `${own}[A-Za-z0-9+/_-]?(?:=|%3[dD]){0,2}`;
};

/** Whether anything in a text is written in another way than it is meant: most texts have nothing of that. */
const ESCAPED = /[%\\&+]/;

/** From so many characters on a credential is taken out wherever it stands; a shorter one where it stands alone, or everyday text would go with it. */
export const LEAST_ANYWHERE = 6;

const isInWord = /^[\p{L}\p{N}]$/u;
/** No letter or digit before it that is one: of what is written in another way the last ones are none. */
const START = String.raw`(?:(?<![\p{L}\p{N}])|(?<=%[0-9A-Fa-f]{2}|\\u[0-9A-Fa-f]{4}|\\[bfnrt]))`;
const END = String.raw`(?![\p{L}\p{N}])`;
/** A pattern of what begins and ends with these characters, where it stands alone. */
const alone = (pattern: string, first = "a", last = "a"): string =>
  `${isInWord.test(first) ? START : ""}(?:${pattern})${isInWord.test(last) ? END : ""}`;

/**
 * Takes one secret out of a text. The pattern of all its escaped forms is large, and takes milliseconds to make: it is made for the first text
 * that could hold one.
 */
const cleanerOf = (secret: string): ((text: string) => string) => {
  const isShort = secret.length < LEAST_ANYWHERE;
  const chars = Array.from(secret);
  const inPlace = (pattern: string): string => (isShort ? alone(pattern, chars[0], chars.at(-1)) : pattern);
  const encoded = [anyCase(hexOf(secret)), ...(isShort ? ([0] as const) : ([0, 1, 2] as const)).map((offset) => base64At(secret, offset))];
  const plain = new RegExp([inPlace(RegExp.escape(secret)), ...(isShort ? encoded.map((one) => alone(one)) : encoded)].join("|"), "gu");
  let escaped: RegExp | undefined;
  return (text) => {
    const held = text.replaceAll(plain, REDACTED);
    if (!ESCAPED.test(held)) return held;
    escaped ??= new RegExp(inPlace(writtenAll(secret)), "gu");
    return held.replaceAll(escaped, REDACTED);
  };
};

/** Longer ones are looked for in pieces: a pattern has a largest size. */
const MOST_LENGTH = 512;
const piecesOf = (secret: string): readonly string[] => {
  const chars = Array.from(secret);
  const size = Math.ceil(chars.length / Math.ceil(chars.length / MOST_LENGTH));
  return chars.flatMap((_, at) => (at % size === 0 ? [chars.slice(at, at + size).join("")] : []));
};

/** No name and password that are sent joined are shorter. */
const LEAST = 3;

/** Takes credentials out of a value; it stops now and then, so that a large one is cleaned in turns with others. */
export type Redact = <T>(value: T) => Generator<void, T>;

/** Values between two stops. */
const STRIDE = 200;

export const createRedact = (secrets: Iterable<string>): Redact => {
  const needles = [...new Set(secrets)].filter((secret) => secret.trim().length >= LEAST).toSorted((a, b) => b.length - a.length);
  const cleaners = needles.flatMap(piecesOf).map(cleanerOf);
  const isNumber = (secret: string): boolean => secret.length >= LEAST_ANYWHERE || String(Number(secret)) === secret;
  const numbers = new Set(needles.filter(isNumber).map(Number));
  const clean = (text: string): string => cleaners.reduce((held, cleaner) => cleaner(held), text);
  let seen = 0;
  const cleanOne = (value: unknown): unknown =>
    typeof value === "string" ? clean(value) : typeof value === "number" && numbers.has(value) ? REDACTED : value;
  const walk = function* (value: unknown): Generator<void, unknown> {
    if (isRawNumber(value)) return clean(value.rawJSON) === value.rawJSON ? value : REDACTED;
    if (typeof value !== "object" || value === null) return cleanOne(value);
    const members: [string, unknown][] = [];
    for (const [name, item] of Object.entries(value)) {
      if (++seen % STRIDE === 0) yield;
      // Of leaves no walk is made: there are too many of them.
      members.push([name, typeof item === "object" ? yield* walk(item) : cleanOne(item)]);
    }
    return Array.isArray(value) ? members.map(([, item]) => item) : Object.fromEntries(members.map(([name, item]) => [clean(name), item]));
  };
  const redact = function* (value: unknown): Generator<void, unknown> {
    return needles.length === 0 ? value : yield* walk(value);
  };
  return redact as Redact;
};
