import { LRUCache } from "lru-cache";
import { RE2JS } from "re2js";

/** A regular expression that somebody else wrote: it runs on RE2, so no text makes it backtrack. */
export interface Pattern {
  /** What a search costs at most, in steps of some 50 ns. */
  steps(text: string): number;
  /** Whether it matches anywhere in the text. */
  test(text: string): boolean;
}

const MAX_TEXT = 4096;
const MAX_SIZE = 5000;
const MAX_REPEAT = 1000;
/** To compile one step of a pattern. */
export const COMPILE_STEPS = 50;
/** An escape, a class, a count, a bracket, or any other character. Where \Q...\E quotes, every character counts by itself. */
const TOKEN = /\\x\{[^}]*\}|\\[^]|\[(?:\\[^]|[^\]\\])*\]?|\{(\d+)(,(\d*))?\}|[^]/g;
const QUOTED_TOKEN = /\{(\d+)(,(\d*))?\}|[^]/g;
const tokenOf = (text: string): RegExp => (text.includes("\\Q") ? QUOTED_TOKEN : TOKEN);

/** A class of Unicode is compiled range by range, which costs as much as so many steps, however often it is repeated. */
const UNICODE_STEPS = 60;
/** A range of a class, its ends as characters or in hex. */
const RANGE = /(?:\\x\{([\da-f]+)\}|\\?([^]))-(?:\\x\{([\da-f]+)\}|([^]))/giu;
/** Where case does not count, each character of a range is looked up: so many cost a step. */
const FOLDED_A_STEP = 80;
/** Beyond it no character has another case. */
const MAX_FOLDED = 0x1e943;
const characterOf = (hex: string | undefined, text = ""): number =>
  Math.min(MAX_FOLDED, hex === undefined ? (text.codePointAt(0) ?? 0) : Number.parseInt(hex, 16));
/** What its classes of Unicode, and ranges where case does not count, cost to compile, in steps. */
const unicodeSteps = (text: string): number => {
  const ranges = /\(\?[a-z]*i/i.test(text) ? [...text.matchAll(RANGE)] : [];
  return ranges.reduce(
    (sum, [, fromHex, from, toHex, to]) => sum + Math.max(0, characterOf(toHex, to) - characterOf(fromHex, from)) / FOLDED_A_STEP,
    UNICODE_STEPS * (text.match(/\\[pP]|\[:/g)?.length ?? 0),
  );
};

/**
 * About the steps of its program, classes of Unicode by what they cost to compile: what `{n,m}` repeats counts `m` times. Cost: one pass,
 * before anything is compiled; to compile costs some microseconds a step.
 */
export const patternSize = (text: string): number => {
  const groups = [{ size: 0, last: 0 }];
  for (const [token, from, range, to] of text.matchAll(tokenOf(text))) {
    const group = groups.at(-1) ?? { size: 0, last: 0 };
    if (from !== undefined) {
      const times = Math.max(Number(from), range === undefined ? 0 : to === "" || to === undefined ? Number(from) + 1 : Number(to));
      group.size += group.last * times;
      group.last *= times + 1;
    } else if (token === "(") groups.push({ size: 2, last: 0 });
    else if (token === ")" && groups.length > 1) {
      groups.pop();
      const outer = groups.at(-1) ?? group;
      outer.size += group.size;
      outer.last = group.size;
    } else {
      group.size += 1;
      group.last = 1;
    }
  }
  return groups.reduce((sum, { size }) => sum + size, unicodeSteps(text));
};

/** What is compiled as a pattern is checked, where its counts `{n,m}` are written out only for the first text that is held against it. */
const checkedPart = (text: string, size: number): string | undefined => {
  const counts = [...text.matchAll(tokenOf(text))].flatMap(([, from, , to]) => [Number(from ?? 0), Number(to ?? 0)]);
  // Counts of what is itself repeated multiply, and are checked by RE2 alone.
  if (size <= 100 || /[)}*+?]\{/.test(text) || counts.some((count) => count > MAX_REPEAT)) return undefined;
  return text.replaceAll(tokenOf(text), (token, from?: string, range?: string, to?: string) =>
    from !== undefined && Number(to || from) >= Number(from) ? (range === undefined ? "{1}" : "{1,}") : token,
  );
};

/** What `compilePattern` costs, in steps of its program. */
export const checkSteps = (text: string): number => {
  const size = patternSize(text);
  return text.length > MAX_TEXT || size > MAX_SIZE ? 0 : patternSize(checkedPart(text, size) ?? text);
};

const compiled = new LRUCache<string, Pattern>({ max: 1000 });
/** Whether `compilePattern` costs nothing. */
export const isCompiled = (text: string): boolean => compiled.has(text);

/**
 * Checks a pattern; equal texts are compiled once, when the first text is held against them. Throws an `Error` whose message may be shown
 * for what RE2 does not take, or is too large to be compiled.
 */
export const compilePattern = (text: string): Pattern => {
  const known = compiled.get(text);
  if (known !== undefined) return known;
  if (text.length > MAX_TEXT) throw new Error(`a pattern has at most ${MAX_TEXT} characters`);
  const size = patternSize(text);
  if (size > MAX_SIZE) throw new Error(`the pattern repeats too much: written out it has more than ${MAX_SIZE} steps`);
  let program: RE2JS | undefined;
  const compile = () => (program ??= RE2JS.compile(text));
  const part = checkedPart(text, size);
  if (part === undefined) compile();
  else RE2JS.compile(part);
  const pattern: Pattern = {
    steps: (subject) => (program === undefined ? size * COMPILE_STEPS : 0) + (subject.length * (8 + size)) / 16,
    test: (subject) => compile().test(subject),
  };
  compiled.set(text, pattern);
  return pattern;
};
