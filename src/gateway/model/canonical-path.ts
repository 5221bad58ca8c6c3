import { ingressProblem } from "./ingress-problem.ts";

/**
 * What an encoded separator or a path parameter leaves behind: such a target has another reading for an upstream that
 * decodes once more, so it is served only by a row that lists the mark.
 */
export const pathMarks = ["%2F", "%25", "%3B", "%3F", "%23", ";"] as const;
export type PathMark = (typeof pathMarks)[number];

/** The one form of a request target: matched, decided, logged and forwarded. */
export interface CanonicalTarget {
  /** Begins with `/`; no empty segment but a last one, no dot segment, no encoded unreserved character. */
  readonly path: string;
  /** Empty, or from the first `?` on, byte for byte as it was sent. */
  readonly query: string;
  readonly marks: ReadonlySet<PathMark>;
}

const MAX_TARGET_BYTES = 8192;
/** Nearly every target: nothing encoded, no parameter, no segment that begins with a dot. It is its own form. */
const ORDINARY = /^(?:\/|(?:\/[A-Za-z0-9\-_~!$&'()*+,=:@][A-Za-z0-9\-._~!$&'()*+,=:@]*)+\/?)$/;
const LITERAL = /^[A-Za-z0-9\-._~!$&'()*+,=:@/;]$/;
const DECODED = /^[A-Za-z0-9\-_~:@]$/;
const ENCODED_MARKS: ReadonlySet<string> = new Set(["%2F", "%25", "%3B", "%3F", "%23"]);
const PRINTABLE = /^[\x21-\x7e]*$/;
const QUERY = /^\?(?:[^%#]|%(?!00)[0-9A-Fa-f]{2})*$/;
const noMarks: ReadonlySet<PathMark> = new Set();
const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

const refuse = (detail: string): never => {
  throw ingressProblem("ambiguous_target", { detail });
};

const isByteEscape = (target: string, at: number): boolean => /^%[0-9A-Fa-f]{2}$/.test(target.slice(at, at + 3));

/** Reads `%80` to `%FF` from `at` on as one run and refuses what is not UTF-8. Answers the index after the run. */
const guardUtf8Run = (path: string, at: number): number => {
  const bytes: number[] = [];
  let next = at;
  while (isByteEscape(path, next)) {
    const byte = Number.parseInt(path.slice(next + 1, next + 3), 16);
    if (byte < 0x80) break;
    bytes.push(byte);
    next += 3;
  }
  try {
    utf8.decode(Uint8Array.from(bytes));
  } catch {
    refuse("The path has an encoded byte that is not UTF-8.");
  }
  return next;
};

/** A segment that some server would resolve away: `.` or `..`, also before its first path parameter, or nothing before it. */
const isDotSegment = (segment: string): boolean => {
  const name = segment.split(/;|%3B/, 1)[0];
  return name === "." || name === ".." || (name === "" && segment !== "");
};

const guardSegments = (path: string): void => {
  const segments = path.slice(1).split("/");
  for (const [index, segment] of segments.entries()) {
    if (segment === "" && index < segments.length - 1) refuse("The path has an empty segment.");
    if (segment.split("%2F").some(isDotSegment)) refuse("The path has a dot segment.");
  }
};

const canonicalPath = (path: string): { readonly path: string; readonly marks: ReadonlySet<PathMark> } => {
  if (ORDINARY.test(path)) return { path, marks: noMarks };
  const marks = new Set<PathMark>();
  let out = "";
  for (let at = 0; at < path.length;) {
    const character = path[at] as string;
    if (character !== "%") {
      if (!LITERAL.test(character)) refuse("The path has a character that must be encoded.");
      if (character === ";") marks.add(";");
      out += character;
      at += 1;
      continue;
    }
    if (!isByteEscape(path, at)) refuse("The path has a percent sign without two hexadecimal digits.");
    const escape = path.slice(at, at + 3).toUpperCase();
    const byte = Number.parseInt(escape.slice(1), 16);
    if (byte >= 0x80) {
      const next = guardUtf8Run(path, at);
      out += path.slice(at, next).toUpperCase();
      at = next;
      continue;
    }
    const decoded = String.fromCharCode(byte);
    if (byte < 0x20 || byte === 0x7f || decoded === "." || decoded === "\\") refuse("The path encodes a character that it may not hold.");
    if (ENCODED_MARKS.has(escape)) marks.add(escape as PathMark);
    out += DECODED.test(decoded) ? decoded : escape;
    at += 3;
  }
  guardSegments(out);
  return { path: out, marks };
};

/**
 * Brings a raw request target to its one form, or refuses what has two readings. Pure and idempotent: the form of a
 * form is itself. Nothing else in the gateway decodes a path.
 *
 * Throws `target_too_long` (414) over 8,192 bytes and `ambiguous_target` (400): not origin-form, a byte outside
 * printable ASCII, `#`, a character that must be encoded, an encoded dot, backslash or control, bytes that are not
 * UTF-8, an empty segment (one trailing slash is allowed and counts) or a dot segment, also one that is so before its
 * first path parameter.
 */
export const canonicalise = (rawTarget: string): CanonicalTarget => {
  if (rawTarget.length > MAX_TARGET_BYTES) throw ingressProblem("target_too_long");
  if (!rawTarget.startsWith("/")) refuse("The target is not a path.");
  if (!PRINTABLE.test(rawTarget)) refuse("The target has a character outside printable ASCII.");
  if (rawTarget.includes("#")) refuse("The target has a fragment.");
  const cut = rawTarget.indexOf("?");
  const query = cut === -1 ? "" : rawTarget.slice(cut);
  if (query !== "" && !QUERY.test(query)) refuse("The query is not well encoded.");
  return { ...canonicalPath(cut === -1 ? rawTarget : rawTarget.slice(0, cut)), query };
};

/** Refuses a target whose marks the matched row does not list. */
export const guardMarks = (target: CanonicalTarget, allowed: readonly PathMark[]): void => {
  for (const mark of target.marks) if (!allowed.includes(mark)) refuse("The path has an encoded separator or a path parameter.");
};

/** One percent-decoding of a captured piece of a canonical path; it is valid UTF-8 by construction. */
export const decodeCapture = (captured: string): string => decodeURIComponent(captured);
