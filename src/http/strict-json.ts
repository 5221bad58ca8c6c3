import { isHeld, isJsonNumber, parseExactJson, rawNumberPaths } from "#contract/exact-numbers.ts";
import { issueOfJson } from "#contract/json-members.ts";
import { MAX_ISSUES, Problem, type ProblemCode } from "#contract/problem.ts";
import { placeOf } from "#contract/shape-issues.ts";
import { parseInPieces } from "./json-pieces.ts";
import { endOfString, nextPiece, STRIDE } from "./json-structure.ts";
import { atOnce, createYieldingOfLong, yielding } from "./yielding.ts";

/**
 * JSON that has one reading: UTF-8 without BOM, no repeated member, bounded depth, every value with a canonical form (RFC 8785, so
 * that it can be digested, kept and sent on). `JSON.parse` keeps the last of two equal members, so one part of a system could
 * decide on the first and another execute the last; here that is refused. So is a number that no double holds, which `JSON.parse` makes
 * another one of; who asks for it with `keepsDigits` or `keepsUnfit` is given its text (`exact-numbers.ts`).
 * Cost: one pass over the text for the check, then `JSON.parse`, and one walk over the value. Libraries that do this build slow generic parsers;
 * see docs/adr/0008-strict-json.md.
 */
export interface StrictJsonLimits {
  /** Nesting of objects and arrays together. */
  readonly depth: number;
  /** Members of all objects and items of all arrays together; 10,000 unless said. */
  readonly members?: number | undefined;
  /** Code of a nesting that is too deep; `body_unreadable` unless a service has its own. */
  readonly tooDeep?: ProblemCode;
  /** Code of a repeated member; `duplicate_member` unless a service has its own. */
  readonly repeated?: ProblemCode;
  /** What has no canonical form passes: for whoever names the fault where it stands, or never digests what it is given. */
  readonly keepsUnfit?: boolean;
  /** Numbers that no double holds pass, as their texts: for whoever sends them on with all their digits. */
  readonly keepsDigits?: boolean | undefined;
  /** Numbers that `String` writes otherwise (1.10, 1e23, 12345678901234567890) pass as text, as they are written: for a reader that stores text. */
  readonly keepsSpelling?: boolean | undefined;
  /**
   * Takes what is thrown otherwise of a body that JSON.parse reads, for a reader that looks at it before it refuses it. All members of one name
   * are there then, the later ones with blanks behind it; numbers are doubles, or as `keepsSpelling` has them; more than `members` are thrown as ever.
   */
  readonly onIssue?: ((issue: () => Problem) => void) | undefined;
}

/** What follows the reading (schemas, walks, digests) costs by the member, on the one loop that everybody shares. */
export const MAX_MEMBERS = 10_000;

/** Characters of a text, or bytes, from which on it is decoded and parsed in pieces. */
const LARGE = 262_144;
/** Characters of a name, or from one piece of structure to the next: blanks and one number. */
const MAX_STRETCH = 1_048_576;

/** Cost: some milliseconds for 16 MiB after the last stop, to join the pieces. */
const decode = function* (bytes: Uint8Array): Generator<void, string> {
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  const parts: string[] = [];
  for (let at = 0; at + LARGE < bytes.byteLength; at += LARGE) {
    parts.push(decoder.decode(bytes.subarray(at, at + LARGE), { stream: true }));
    yield;
  }
  parts.push(decoder.decode(bytes.subarray(parts.length * LARGE)));
  return parts.join("");
};

const raise = ({ onIssue }: StrictJsonLimits, issue: () => Problem): void => {
  if (onIssue === undefined) throw issue();
  onIssue(issue);
};

/** Reads text, structure, values and their fitness one after the other; it stops between them. */
export const strictJsonSteps = function* (bytes: Uint8Array | string, limits: StrictJsonLimits): Generator<void, unknown> {
  let text: string;
  try {
    text = typeof bytes === "string" ? bytes : yield* decode(bytes);
  } catch (cause) {
    throw new Problem("body_unreadable", { detail: "The body is not UTF-8.", cause });
  }
  if (text.charCodeAt(0) === 0xfeff) throw new Problem("body_unreadable", { detail: "The body begins with a byte order mark." });
  let value: unknown;
  let unfit: string | undefined;
  const look = (made: unknown): void => {
    if (limits.keepsUnfit !== true) unfit ??= issueOfJson(made, limits.keepsDigits);
  };
  try {
    const inserts: Insert[] = [];
    const isExact = yield* checkMembers(text, limits, inserts);
    yield;
    if (!isExact) limits.onIssue?.(() => new Problem("body_unreadable", { detail: "The body holds a number that no double holds." }));
    const parse = isExact || limits.onIssue !== undefined ? (piece: string): unknown => JSON.parse(piece) : parseExactJson;
    const each = inserts.length === 0 ? text : withInserts(text, inserts);
    yield;
    // Nesting without bound is for the parser of the platform alone.
    if (each.length > LARGE && limits.onIssue === undefined) value = yield* parseInPieces(each, parse, look);
    else {
      value = parse(each);
      yield;
      look(value);
    }
  } catch (cause) {
    if (cause instanceof Problem) throw cause;
    throw new Problem("body_unreadable", { detail: "The body is not JSON.", cause });
  }
  if (unfit === undefined) return value;
  const raw = limits.keepsDigits === true ? [] : rawNumberPaths(value).slice(0, MAX_ISSUES);
  const errors = raw.map((path) => ({ path: placeOf(path), message: "is a number that no double holds" }));
  throw new Problem("body_unreadable", { detail: `The body ${unfit}.`, ...(errors.length === 0 ? {} : { errors }) });
};

export const parseStrictJson = (bytes: Uint8Array | string, limits: StrictJsonLimits = { depth: 64 }): unknown =>
  atOnce(strictJsonSteps(bytes, limits));

/** The same, others in between where it is large. */
export const readStrictJson = async (bytes: Uint8Array, limits: StrictJsonLimits): Promise<unknown> =>
  bytes.byteLength > LARGE ? yielding(strictJsonSteps(bytes, limits), createYieldingOfLong()) : parseStrictJson(bytes, limits);

/** What is put before a place of a text. */
type Insert = readonly [at: number, text: string];
const withInserts = (text: string, inserts: readonly Insert[]): string =>
  [[0, ""] as const, ...inserts].map(([from, inserted], n) => `${inserted}${text.slice(from, inserts[n]?.[0])}`).join("");

/** Behind names that would be equal, each time others: two kinds of them count in binary. */
const blanks = (n: number): string => n.toString(2).replaceAll("0", " ").replaceAll("1", "\u2003");

/** A double holds every number of so few digits, unless its exponent is large: then no literal is too short to be looked at. */
const EXACT_LENGTH = 15;
const LARGE_EXPONENT = /[eE][-+]?\d{3}/;

/** Characters of a number with a large exponent that may stand on both sides of a stop. */
const EXPONENT = 4;
const hasLargeExponent = function* (text: string): Generator<void, boolean> {
  for (let at = 0; at < text.length; at += LARGE) {
    if (at > 0) yield;
    if (LARGE_EXPONENT.test(text.slice(at, at + LARGE + EXPONENT))) return true;
  }
  return false;
};

/**
 * Walks the text once; strings are skipped by their own rules, so braces inside them do not count. Answers whether a double holds each of
 * its numbers; `inserts` takes blanks for names that their object has already, and the quotes of numbers that pass as text.
 */
const checkMembers = function* (text: string, limits: StrictJsonLimits, inserts: Insert[]): Generator<void, boolean> {
  const open: (Set<string> | null)[] = [];
  const max = limits.members ?? MAX_MEMBERS;
  let members = 0;
  let expectsName = false;
  const count = (): void => {
    if (++members > max) throw new Problem("body_too_large", { detail: `The body has more than ${max} members.` });
  };
  const enter = (names: Set<string> | null): void => {
    if (open.push(names) > limits.depth)
      raise(limits, () => new Problem(limits.tooDeep ?? "body_unreadable", { detail: `The body is nested deeper than ${limits.depth}.` }));
    expectsName = names !== null;
  };
  let repeated = 0;
  const looksFrom = limits.keepsSpelling === true || (yield* hasLargeExponent(text)) ? 0 : EXACT_LENGTH;
  let isExact = true;
  /** Behind the last piece of structure. */
  let from = 0;
  const look = (to: number): void => {
    if (to - from > MAX_STRETCH) throw new Problem("body_unreadable", { detail: "The body has a run of blanks or digits without end." });
    if (to - from <= looksFrom || !isExact) return;
    const found = /[-\d]\S*/.exec(text.slice(from, to));
    if (found === null) return;
    const [literal] = found;
    const start = from + found.index;
    if (limits.keepsSpelling !== true) isExact = isHeld(literal);
    else if (String(Number(literal)) !== literal && isJsonNumber(literal)) inserts.push([start, '"'], [start + literal.length, '"']);
  };
  let stop = STRIDE;
  for (let at = nextPiece(text, 0); at < text.length; at = nextPiece(text, at + 1)) {
    if (at >= stop) {
      stop = at + STRIDE;
      yield;
    }
    switch (text.charCodeAt(at)) {
      case 0x7b: // {
        enter(new Set());
        break;
      case 0x5b: // [
        enter(null);
        break;
      case 0x7d: // }
      case 0x5d: // ]
        look(at);
        if (!isOpening(text, at - 1)) count();
        open.pop();
        expectsName = false;
        break;
      case 0x2c: // ,
        look(at);
        count();
        expectsName = open.at(-1) instanceof Set;
        break;
      case 0x22: {
        const end = yield* endOfString(text, at);
        const names = open.at(-1);
        if (expectsName && names) {
          if (end - at > MAX_STRETCH) throw new Problem("body_unreadable", { detail: "The body has a name without end." });
          const raw = text.slice(at + 1, end);
          const name = raw.includes("\\") ? (JSON.parse(`"${raw}"`) as string) : raw;
          if (names.has(name)) {
            raise(limits, () => new Problem(limits.repeated ?? "duplicate_member", { detail: "A member is named twice in one object." }));
            inserts.push([end, blanks(++repeated)]);
          }
          names.add(name);
          expectsName = false;
        }
        at = end;
        break;
      }
      default: // Nothing in this stretch.
        if (at - from > MAX_STRETCH) look(at);
        continue;
    }
    from = at + 1;
  }
  look(text.length);
  return isExact;
};

/** Whether what stands here, but for blanks, opens an object or array: one that closes now is empty. */
const isOpening = (text: string, from: number): boolean => {
  let at = from;
  while (at >= 0 && text.charCodeAt(at) <= 0x20) at--;
  return text[at] === "{" || text[at] === "[";
};
