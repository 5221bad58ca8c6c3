import { Buffer } from "node:buffer";
import { Problem, type ProblemCode } from "#contract/problem.ts";
import { decodeKey } from "./secret-key.ts";
import { isAble, secretStores, type Scheme } from "#contract/secret-schemes.ts";
import { lowerAscii, type SchemeTable } from "./uri-schemes.ts";

/**
 * scheme "://" mount 1*("/" segment) ["#" key] ["?version=" N], at most 1,024 bytes and 32 segments. Frozen. What is
 * decided, recorded, cached and fetched uses this struct only: no other reading of the text exists.
 */
export interface SecretUri {
  readonly scheme: Scheme;
  readonly mount: string;
  readonly segments: readonly string[];
  /** Decoded; absent = the whole map. */
  readonly key?: string;
  readonly version?: number;
  /** The one spelling; `parse(canonical)` gives an equal struct. */
  readonly canonical: string;
  /** The canonical form without version: what decisions are about. */
  readonly id: string;
}

/** A place: mount and leading segments, without key and version. */
export type SecretPrefix = Pick<SecretUri, "scheme" | "mount" | "segments">;

const MAX_BYTES = 1024;
const MAX_SEGMENTS = 32;
const MAX_SEGMENT = 128;
const reserved: ReadonlySet<string> = new Set(["__proto__", "constructor", "prototype"]);

const NO_MOUNT = /[^A-Za-z0-9._-]/;
const NO_SEGMENT = /[^A-Za-z0-9._~@-]/;
/** Controls, no-break space, byte order mark. */
// oxlint-disable-next-line no-control-regex -- they are what is meant
const STRAY = /[\u0000-\u001f\u007f-\u00a0\ufeff]/;

/** Says which rule and where, never the text: a refused URI may hold a pasted secret. */
const refuse = (code: ProblemCode, rule: string, at: number): never => {
  throw new Problem(code, { detail: `${rule} (at offset ${at})` });
};

const tooLong = (at: number): never => refuse("uri_too_long", `a secret URI has at most ${MAX_BYTES} bytes`, at);

/** Type, length, control characters, scheme: what any URI and prefix must pass before its parts are looked at. */
const openText = (input: unknown, schemes: SchemeTable): { text: string; scheme: Scheme; start: number } => {
  if (input === undefined || input === "") return refuse("uri_required", "a secret URI is required", 0);
  if (typeof input !== "string") return refuse("uri_type", "a secret URI is text", 0);
  const text = input;
  if (text.length > MAX_BYTES || (text.length * 3 > MAX_BYTES && Buffer.byteLength(text) > MAX_BYTES)) return tooLong(MAX_BYTES);
  const stray = text.search(STRAY);
  if (stray >= 0) return refuse("uri_control", "no control character and no stray space", stray);
  if (text.charCodeAt(0) === 0x20 || text.charCodeAt(text.length - 1) === 0x20)
    return refuse("uri_control", "no space at either end", text.charCodeAt(0) === 0x20 ? 0 : text.length - 1);
  const separator = text.indexOf("://");
  if (separator < 0) return refuse("uri_syntax", 'scheme and mount are parted by "://"', 0);
  const scheme = schemes.get(lowerAscii(text.slice(0, separator)));
  return scheme === undefined ? refuse("uri_scheme", "the scheme is not known", 0) : { text, scheme, start: separator + 3 };
};

interface Tail {
  readonly pathEnd: number;
  readonly keyAt?: number;
  readonly keyText?: string;
  readonly versionAt?: number;
  readonly versionText?: string;
}

/** `version=N` and nothing else; servers that ignore an unknown parameter would read the newest version instead. */
const readVersion = (query: string, at: number): string => {
  const parts = query.split("&");
  if (!parts.every((part) => part.startsWith("version="))) return refuse("uri_query", "the query is version=N alone", at);
  if (parts.length > 1) return refuse("uri_query_repeated", "the version is named once", at);
  return query.slice("version=".length);
};

/** Splits `#key?version=N` and, in the order of RFC 3986, `?version=N#key`. */
const splitTail = (text: string, start: number): Tail => {
  let pathEnd = start;
  while (pathEnd < text.length && text.charCodeAt(pathEnd) !== 0x23 && text.charCodeAt(pathEnd) !== 0x3f) pathEnd++;
  if (pathEnd === text.length) return { pathEnd };
  if (text.charCodeAt(pathEnd) === 0x23) {
    const query = text.indexOf("?", pathEnd);
    const keyText = text.slice(pathEnd + 1, query < 0 ? text.length : query);
    if (query < 0) return { pathEnd, keyAt: pathEnd + 1, keyText };
    return { pathEnd, keyAt: pathEnd + 1, keyText, versionAt: query + 1, versionText: readVersion(text.slice(query + 1), query + 1) };
  }
  const hash = text.indexOf("#", pathEnd);
  const versionText = readVersion(text.slice(pathEnd + 1, hash < 0 ? text.length : hash), pathEnd + 1);
  if (hash < 0) return { pathEnd, versionAt: pathEnd + 1, versionText };
  const second = text.indexOf("?", hash);
  if (second >= 0) return refuse("uri_query_repeated", "the version is named once", second);
  return { pathEnd, keyAt: hash + 1, keyText: text.slice(hash + 1), versionAt: pathEnd + 1, versionText };
};

const requireCharacters = (part: string, at: number, unwanted: RegExp): void => {
  if (part.length > MAX_SEGMENT) refuse("uri_too_long", `a segment has at most ${MAX_SEGMENT} characters`, at);
  const index = part.search(unwanted);
  if (index >= 0) refuse("uri_segment", "a character that a mount or segment may not hold", at + index);
};

/** Mount and segments of `text[start..end)`: percent, mount, empty and dot segments, characters, reserved names. */
const parsePath = (text: string, start: number, end: number, scheme: Scheme, isPrefix: boolean): { mount: string; segments: string[] } => {
  const percent = text.indexOf("%", start);
  if (percent >= 0 && percent < end) refuse("uri_percent", "a path is never percent-encoded", percent);
  const parts = text.slice(start, end).split("/");
  if (isPrefix && parts.length > 1 && parts.at(-1) === "") parts.pop();
  const [mount = "", ...segments] = parts;
  const { mount: only = mount, reservesNames } = secretStores[scheme].grammar;
  if (mount !== only) refuse("uri_authority", `the mount of ${scheme} is "${only}"`, start);
  if (!isPrefix && (segments.length === 0 || (segments.length === 1 && segments[0] === "")))
    refuse("uri_path_empty", "a path follows the mount", end);
  let at = start;
  for (const part of parts) {
    if (part === "") refuse("uri_empty_segment", "no segment is empty", at);
    if (part === "." || part === "..") refuse("uri_dot_segment", "no segment is a dot or two", at);
    at += part.length + 1;
  }
  if (segments.length > MAX_SEGMENTS) refuse("uri_too_long", `a path has at most ${MAX_SEGMENTS} segments`, start);
  requireCharacters(mount, start, NO_MOUNT);
  at = start + mount.length + 1;
  for (const segment of segments) {
    requireCharacters(segment, at, NO_SEGMENT);
    at += segment.length + 1;
  }
  if (reservesNames === true && segments.some((segment) => reserved.has(segment)))
    refuse("uri_segment_reserved", "a reserved name is no segment", start);
  return { mount, segments };
};

const parseKey = (tail: Tail, scheme: Scheme): { key: string; canonical: string } | undefined => {
  if (tail.keyText === undefined || tail.keyAt === undefined) return undefined;
  if (tail.keyText === "") return refuse("uri_key_empty", "a key follows the number sign", tail.keyAt);
  const read = decodeKey(tail.keyText);
  if ("code" in read) return refuse(read.code, read.rule, tail.keyAt + read.at);
  if (secretStores[scheme].grammar.reservesNames === true && reserved.has(read.key))
    return refuse("uri_key_reserved", "a reserved name is no key", tail.keyAt);
  return read;
};

/** N of `version=N`, as text of its own or inside a URI: one spelling, at most 10 digits. */
export const parseVersion = (text: string, scheme: Scheme, at = 0): number => {
  if (!/^[1-9][0-9]{0,9}$/.test(text)) return refuse("uri_version", "a version is 1 to 10 digits without a leading zero", at);
  return isAble(scheme, "versions") ? Number(text) : refuse("uri_version_unsupported", "this provider keeps no versions", at);
};

/** Whether a name could stand as a segment: only then has what lies under it a URI of its own. */
export const isSegment = (name: string): boolean =>
  name !== "" && name.length <= MAX_SEGMENT && name !== "." && name !== ".." && !reserved.has(name) && !NO_SEGMENT.test(name);

/** Canonical text of a place. */
export const formatPrefix = (prefix: SecretPrefix): string => [`${prefix.scheme}://${prefix.mount}`, ...prefix.segments].join("/");

/** What nearly every URI is: canonical but for the letters of its scheme. Each character has one place to go, so it is read once. */
const PLAIN =
  /^([A-Za-z][A-Za-z0-9+.-]{0,31}):\/\/([A-Za-z0-9._-]{1,128})((?:\/[A-Za-z0-9_~@-][A-Za-z0-9._~@-]{0,127}){1,32})(?:#([A-Za-z0-9._~/@:!$&'()*+,;=-]{1,256}))?(?:\?version=([1-9][0-9]{0,9}))?$/;

/** A URI of that form; of all else `undefined`, whether it is one or not. */
const parsePlain = (text: string, schemes: SchemeTable): SecretUri | undefined => {
  const found = text.length <= MAX_BYTES ? PLAIN.exec(text) : null;
  if (found === null) return undefined;
  const [, name = "", mount = "", path = "", key, digits] = found;
  const scheme = schemes.get(name) ?? schemes.get(lowerAscii(name));
  if (scheme === undefined || mount === "." || mount === "..") return undefined;
  const segments = path.slice(1).split("/");
  if (digits !== undefined && !isAble(scheme, "versions")) return undefined;
  const { mount: only = mount, reservesNames } = secretStores[scheme].grammar;
  if (mount !== only) return undefined;
  if (reservesNames === true && ((key !== undefined && reserved.has(key)) || segments.some((segment) => reserved.has(segment))))
    return undefined;
  const place = `${scheme}://${mount}${path}`;
  const id = key === undefined ? place : `${place}#${key}`;
  const canonical = digits === undefined ? id : `${id}?version=${digits}`;
  if (canonical.length > MAX_BYTES) return undefined;
  Object.freeze(segments);
  const version = digits === undefined ? undefined : Number(digits);
  return Object.freeze(
    key === undefined ? { scheme, mount, segments, version, canonical, id } : { scheme, mount, segments, key, version, canonical, id },
  );
};

/** Parses a secret URI. Throws a `uri_*` problem (400) for the first fault; cost O(n), n at most 1,024. */
export const parseSecretUri = (input: unknown, schemes: SchemeTable): SecretUri => {
  const plain = typeof input === "string" ? parsePlain(input, schemes) : undefined;
  if (plain !== undefined) return plain;
  const { text, scheme, start } = openText(input, schemes);
  const tail = splitTail(text, start);
  const { mount, segments } = parsePath(text, start, tail.pathEnd, scheme, false);
  const key = parseKey(tail, scheme);
  const version = tail.versionText === undefined ? undefined : parseVersion(tail.versionText, scheme, tail.versionAt);
  const id = `${formatPrefix({ scheme, mount, segments })}${key === undefined ? "" : `#${key.canonical}`}`;
  const canonical = version === undefined ? id : `${id}?version=${version}`;
  if (canonical.length > MAX_BYTES) tooLong(text.length);
  return Object.freeze({
    scheme,
    mount,
    segments: Object.freeze(segments),
    ...(key === undefined ? {} : { key: key.key }),
    version,
    canonical,
    id,
  });
};

/** Parses `scheme://mount[/segment...][/]`; text without `://` is a path below `yaml://secret`. */
export const parseSecretPrefix = (input: string, schemes: SchemeTable): SecretPrefix => {
  const { text, scheme, start } = openText(input === "" || input.includes("://") ? input : `yaml://secret/${input}`, schemes);
  const tail = splitTail(text, start);
  if (tail.versionText !== undefined) refuse("uri_query", "a prefix has no version", tail.pathEnd);
  if (tail.keyText !== undefined) refuse("uri_key", "a prefix has no key", tail.pathEnd);
  const { mount, segments } = parsePath(text, start, tail.pathEnd, scheme, true);
  return Object.freeze({ scheme, mount, segments: Object.freeze(segments) });
};
