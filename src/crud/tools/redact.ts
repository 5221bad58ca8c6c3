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

/**
 * A pattern of one character as it is, in percent form, escaped for JSON and escaped for HTML; each also when that was done more than once.
 * The first one begins behind its backslashes: were they counted from each of a long run, the run would be read eight times.
 */
const written = (char: string, isFirst: boolean): string => {
  const before = isFirst ? String.raw`(?<=\\)` : ESCAPES;
  const point = (char.codePointAt(0) ?? 0).toString(16);
  const percent = (hexOf(char).match(/../g) ?? []).map((byte) => `%(?:25){0,2}${anyCase(byte)}`).join("");
  const units = char
    .split("")
    .map((unit, at) => `${at === 0 ? before : ESCAPES}u${anyCase(unit.charCodeAt(0).toString(16).padStart(4, "0"))}`);
  const names = HTML[char] === undefined ? "" : `|${HTML[char]}`;
  const letter = LETTERS[char] === undefined ? "" : `|${before}${LETTERS[char]}`;
  const html = `&(?:amp;){0,2}(?:#0{0,4}${char.codePointAt(0)}|#[xX]0{0,4}${anyCase(point)}${names});`;
  const plain = String.raw`${isFirst ? "" : "\\\\{0,7}"}\u{${point}}`;
  return String.raw`(?:${plain}|${percent}|${units.join("")}|${html}${letter}${char === " " ? String.raw`|\+` : ""})`;
};
/** Backslashes that follow one another are one piece: were each to take as many as it likes, no two would agree which. */
const writtenAll = (text: string): string =>
  (text.match(/\\+|[^\\]/gsu) ?? [])
    .map((piece, at, { length }) => {
      if (!piece.startsWith("\\")) return written(piece, at === 0);
      const others = String.raw`(?:%(?:25){0,2}5[cC]|&(?:amp;){0,2}#(?:0{0,4}92|[xX]0{0,4}5[cC]);|\\{1,7}u005[cC])`;
      const max = at > 0 ? piece.length * 8 : length > 1 ? piece.length : "";
      return String.raw`(?:\\{${piece.length},${max}}|${others}{${piece.length}})`;
    })
    .join("");

/** Patterns of base64, in both alphabets, of what stands at any place of a longer text: without the digits that others share, but for the last. */
const base64At = (secret: string, offset: 0 | 1 | 2): string => {
  const bytes = Buffer.concat([Buffer.alloc(offset), Buffer.from(secret)]);
  const digits = bytes.toString("base64").slice(Math.ceil((offset * 4) / 3), Math.floor((bytes.length * 4) / 3));
  const own = digits.replaceAll(/[+/]/g, (digit) => (digit === "+" ? `(?:${written("+", false)}|-)` : `(?:${written("/", false)}|_)`));
  return bytes.length % 3 === 0 ? own : `${own}[A-Za-z0-9+/_-]?(?:=|%3[dD]){0,2}`;
};

/** Whether anything in a text is written in another way than it is meant: most texts have nothing of that. */
const ESCAPED = /[%\\&+]/;

/** From so many characters on a credential is taken out wherever it stands; a shorter one where it stands alone, or everyday text would go with it. */
export const MIN_ANYWHERE = 6;

const isInWord = /^[\p{L}\p{N}]$/u;
/** No letter or digit before it that is one: of what is written in another way the last ones are none. */
const START = String.raw`(?:(?<![\p{L}\p{N}])|(?<=%[0-9A-Fa-f]{2}|\\u[0-9A-Fa-f]{4}|\\[bfnrt]))`;
const END = String.raw`(?![\p{L}\p{N}])`;
/** A pattern of what begins and ends with these characters, where it stands alone. */
const alone = (pattern: string, first = "a", last = "a"): string =>
  `${isInWord.test(first) ? START : ""}(?:${pattern})${isInWord.test(last) ? END : ""}`;

/** Characters of a text between two stops, and the most that one piece of a secret takes in any spelling. */
const STRETCH = 8192;
const MAX_WRITTEN = 2048;
/** Characters before a stretch that its first match looks back on. */
const LOOK_BACK = 8;

/** Replaces what a pattern matches, stretch by stretch; with `open` also the backslashes before it. Time linear in the text. */
const replaceIn = function* (text: string, pattern: RegExp, open: boolean): Generator<void, string> {
  const parts: string[] = [];
  let from = 0;
  for (let at = 0; at < text.length; at += STRETCH) {
    if (at > 0) yield;
    const first = Math.max(0, at - LOOK_BACK);
    const stretch = text.slice(first, at + STRETCH + MAX_WRITTEN);
    pattern.lastIndex = Math.max(at, from) - first;
    for (let found = pattern.exec(stretch); found !== null && first + found.index < at + STRETCH; found = pattern.exec(stretch)) {
      let start = first + found.index;
      while (open && start > from && text[start - 1] === "\\") start -= 1;
      parts.push(text.slice(from, start), REDACTED);
      from = first + pattern.lastIndex;
    }
  }
  return parts.length === 0 ? text : parts.join("") + text.slice(from);
};

/**
 * Takes one secret out of a text. The pattern of all its escaped forms is large, and takes milliseconds to make: it is made for the first text
 * that could hold one.
 */
const cleanerOf = (secret: string): ((text: string) => Generator<void, string>) => {
  const isShort = secret.length < MIN_ANYWHERE;
  const chars = Array.from(secret);
  const inPlace = (pattern: string): string => (isShort ? alone(pattern, chars[0], chars.at(-1)) : pattern);
  const encoded = [anyCase(hexOf(secret)), ...(isShort ? ([0] as const) : ([0, 1, 2] as const)).map((offset) => base64At(secret, offset))];
  const plain = new RegExp([inPlace(RegExp.escape(secret)), ...(isShort ? encoded.map((one) => alone(one)) : encoded)].join("|"), "gu");
  let escaped: RegExp | undefined;
  return function* (text) {
    if (text.length < chars.length) return text;
    const held = yield* replaceIn(text, plain, false);
    if (!ESCAPED.test(held)) return held;
    if (escaped === undefined) yield;
    escaped ??= new RegExp(inPlace(writtenAll(secret)), "gu");
    return yield* replaceIn(held, escaped, true);
  };
};

/**
 * Longer ones are looked for in pieces, equal ones once: a text may fit the beginning of a piece at each of its characters, an echo may be cut,
 * and a pattern of more takes too long to make.
 */
const MAX_LENGTH = 64;
const piecesOf = (secret: string): readonly string[] => {
  const chars = Array.from(secret);
  const size = Math.ceil(chars.length / Math.ceil(chars.length / MAX_LENGTH));
  return chars.flatMap((_, at) => (at % size === 0 ? [chars.slice(at, at + size).join("")] : []));
};

/** No name and password that are sent joined are shorter. */
const MIN = 3;

/** Takes credentials out of a value; it stops now and then, so that a large one is cleaned in turns with others. */
export type Redact = <T>(value: T) => Generator<void, T>;

/** Values between two stops. */
const STRIDE = 200;

export const createRedact = (secrets: Iterable<string>): Redact => {
  const needles = [...new Set(secrets)].filter((secret) => secret.trim().length >= MIN).toSorted((a, b) => b.length - a.length);
  const cleaners = [...new Set(needles.flatMap(piecesOf))].map(cleanerOf);
  const isNumber = (secret: string): boolean => secret.length >= MIN_ANYWHERE || String(Number(secret)) === secret;
  const numbers = new Set(needles.filter(isNumber).map(Number));
  const clean = function* (text: string): Generator<void, string> {
    let held = text;
    for (const cleaner of cleaners) {
      if (text.length > STRETCH) yield;
      held = yield* cleaner(held);
    }
    return held;
  };
  let seen = 0;
  const walk = function* (value: unknown): Generator<void, unknown> {
    if (typeof value === "string") return yield* clean(value);
    if (isRawNumber(value)) return (yield* clean(value.rawJSON)) === value.rawJSON ? value : REDACTED;
    if (typeof value === "number" && numbers.has(value)) return REDACTED;
    if (typeof value !== "object" || value === null) return value;
    const members: [string, unknown][] = [];
    for (const [name, item] of Object.entries(value)) {
      if (++seen % STRIDE === 0) yield;
      members.push([Array.isArray(value) ? name : yield* clean(name), yield* walk(item)]);
    }
    return Array.isArray(value) ? members.map(([, item]) => item) : Object.fromEntries(members);
  };
  const redact = function* (value: unknown): Generator<void, unknown> {
    return needles.length === 0 ? value : yield* walk(value);
  };
  return redact as Redact;
};
