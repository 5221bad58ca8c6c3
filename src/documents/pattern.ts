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
const REPEAT = /\{(\d+)(,(\d*))?\}/g;
/** An escape, a class, a count, a bracket, or any other character. */
const TOKEN = /\\[^]|\[(?:\\[^]|[^\]\\])*\]?|\{(\d+)(,(\d*))?\}|[^]/g;

/** A class of Unicode is compiled range by range, which costs as much as so many steps, however often it is repeated. */
const UNICODE_STEPS = 60;
/** What its classes of Unicode cost to compile, in steps. */
export const unicodeSteps = (text: string): number => UNICODE_STEPS * (text.match(/\\[pP]|\[:/g)?.length ?? 0);

/**
 * About the steps of its program, classes of Unicode by what they cost to compile: what `{n,m}` repeats counts `m` times. Cost: one pass,
 * before anything is compiled; to compile costs some microseconds a step.
 */
export const patternSize = (text: string): number => {
  const groups = [{ size: 0, last: 0 }];
  // Within \Q...\E a bracket opens no class: every character counts then.
  const tokens = text.includes("\\Q") ? [...text.matchAll(/\{(\d+)(,(\d*))?\}|[^]/g)] : [...text.matchAll(TOKEN)];
  for (const [token, from, range, to] of tokens) {
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

const compiled = new LRUCache<string, Pattern>({ max: 1000 });
/** Whether `compilePattern` costs nothing. */
export const isCompiled = (text: string): boolean => compiled.has(text);

/**
 * Checks a pattern; equal texts are compiled once, when the first text is held against them: the counts of `{n,m}` are written out only then.
 * Throws an `Error` whose message may be shown for what RE2 does not take, or is too large to be compiled.
 */
export const compilePattern = (text: string): Pattern => {
  const known = compiled.get(text);
  if (known !== undefined) return known;
  if (text.length > MAX_TEXT) throw new Error(`a pattern has at most ${MAX_TEXT} characters`);
  const size = patternSize(text);
  if (size > MAX_SIZE) throw new Error(`the pattern repeats too much: written out it has more than ${MAX_SIZE} steps`);
  const counts = [...text.matchAll(REPEAT)].flatMap(([, from, , to]) => [Number(from), Number(to ?? 0)]);
  // Counts of what is itself repeated multiply, and are checked by RE2 alone.
  const isSimple = !/[)}*+?]\{/.test(text) && counts.every((count) => count <= MAX_REPEAT);
  let program: RE2JS | undefined;
  const compile = () => (program ??= RE2JS.compile(text));
  if (isSimple && size > 100)
    RE2JS.compile(
      text.replaceAll(REPEAT, (repeat, from: string, range?: string, to?: string) =>
        Number(to || from) >= Number(from) ? (range === undefined ? "{1}" : "{1,}") : repeat,
      ),
    );
  else compile();
  const pattern: Pattern = {
    steps: (subject) => (program === undefined ? size * COMPILE_STEPS : 0) + (subject.length * (8 + size)) / 16,
    test: (subject) => compile().test(subject),
  };
  compiled.set(text, pattern);
  return pattern;
};
