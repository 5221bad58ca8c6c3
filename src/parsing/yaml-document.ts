import { isMap, isNode, isPair, isScalar, isSeq, LineCounter, parseDocument, visit, type Document } from "yaml";
import { isHeld, isJsonNumber } from "#contract/exact-numbers.ts";
import { MAX_ISSUES, type Issue } from "#contract/problem.ts";
import { placeOf as placeInValue } from "#contract/shape-issues.ts";
import { repeatedKeys } from "./repeated-keys.ts";
import { refusedTokens, type Place } from "./yaml-tokens.ts";

type Path = readonly PropertyKey[];

/** A document as it was read: its value, and where each part stands. */
export interface YamlDocument {
  /** As it is shown in issues. */
  readonly file: string;
  readonly value: unknown;
  /** Where a member's value stands; the nearest holder's place if it is absent. */
  placeOf(path: Path): Place;
  /** Where a member's name stands. */
  keyPlaceOf(path: Path): Place;
  /** Something wrong with the value at a path, or with the name of it. */
  issue(path: Path, message: string, more?: { readonly code?: string; readonly hint?: string; readonly onKey?: boolean }): Issue;
}

export interface YamlLimits {
  /** 1 unless said. */
  readonly mebibytes?: number;
  /** As much as a text may have that `printJson` made; none may be larger unless said. */
  readonly printedMebibytes?: number;
  /** Nesting of maps and lists together; 40 unless said. */
  readonly depth?: number;
  /** How many values aliases and merge keys may stand for; none unless said. */
  readonly aliases?: number;
  /** A number that no double holds becomes the nearest one. Unless said it is an issue, but as a bound of a schema. */
  readonly rounds?: boolean;
  /** Name of members whose numbers are sent on: one that would be sent in other digits than it is written in is an issue. */
  readonly sent?: string;
}

export type ReadYaml =
  | { readonly document: YamlDocument; readonly issues: readonly [] }
  | { readonly document?: undefined; readonly issues: readonly Issue[] };

/**
 * Reads YAML 1.2 that has one reading, and JSON, which is YAML: no anchor, alias, tag, directive or repeated key, every key a text, of
 * bounded size and depth. Answers the document, or every issue with file, line and column.
 */
export const readYaml = (text: string, file: string, limits: YamlLimits = {}): ReadYaml => {
  const { mebibytes = 1, depth = 40, aliases = 0 } = limits;
  const isLarge = Buffer.byteLength(text) > mebibytes * 1_048_576;
  const printed = isLarge && text.length <= (limits.printedMebibytes ?? 0) * 1_048_576 ? asPrinted(text, depth) : undefined;
  if (printed !== undefined) return { issues: [], document: withPlaces(file, printed, () => START) };
  if (isLarge) {
    const printable = limits.printedMebibytes === undefined ? "" : ` (${limits.printedMebibytes} MiB as JSON with one blank a level)`;
    return {
      issues: [
        { path: "", message: `is larger than ${mebibytes} MiB${printable}: it has ${mebibytesOf(text)} MiB`, file, line: 1, column: 1 },
      ],
    };
  }
  const refused = refusedTokens(text, { depth, aliases: aliases > 0 });
  if (refused.length > 0) return { issues: refused.map((issue) => ({ path: "", file, ...issue })) };
  const lineCounter = new LineCounter();
  const document = parseDocument(text, {
    version: "1.2",
    lineCounter,
    uniqueKeys: false,
    prettyErrors: false,
    stringKeys: true,
    merge: aliases > 0,
  });
  const place = (offset: number | undefined): Place => {
    const { line, col } = lineCounter.linePos(offset ?? 0);
    return { line: Math.max(line, 1), column: Math.max(col, 1) };
  };
  const repeated = repeatedKeys(document).map(({ range }) => ({ message: "Map keys must be unique", pos: range ?? [0] }));
  const problems = [...document.errors, ...document.warnings, ...repeated].slice(0, MAX_ISSUES);
  if (problems.length > 0)
    return { issues: problems.map(({ message, pos }) => ({ path: "", message, code: "yaml", file, ...place(pos[0]) })) };
  const shared = findShared(document);
  if (shared !== undefined) {
    const message = `names a member ${SHARED}, which would be left out: no member is called so`;
    return { issues: [{ path: "", message, code: "unrecognized_keys", file, ...place(shared) }] };
  }
  const inexact = limits.rounds === true ? [] : findInexact(document, text, limits.sent);
  if (inexact.length > 0) return { issues: inexact.map(([at, message]) => ({ path: "", message, code: "yaml", file, ...place(at) })) };
  const circular = aliases > 0 ? findAlias(document, "circular") : undefined;
  if (circular !== undefined)
    return { issues: [{ path: "", message: "an alias stands within what it stands for", code: "yaml", file, ...place(circular) }] };
  let value: unknown;
  try {
    value = document.toJS({ maxAliasCount: aliases });
  } catch (error) {
    const message = error instanceof Error ? error.message : "cannot be read";
    return { issues: [{ path: "", message, code: "yaml", file, ...place(findAlias(document, "any")) }] };
  }
  return { issues: [], document: withPlaces(file, value, () => placesOf(document, lineCounter)) };
};

/**
 * A text that is exactly what `printJson` makes of its value has one reading, and needs no reader of YAML, which takes a hundred times
 * as long; its issues have a path and no line.
 */
const asPrinted = (text: string, depth: number): unknown => {
  if (!text.startsWith("{")) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return printJson(value) === text && !text.includes(`"${SHARED}"`) && !isDeeper(value, depth) ? value : undefined;
  } catch {
    return undefined;
  }
};

/** Rounded up: what is too large is never said to be as large as it may be. */
export const mebibytesOf = (text: string): number => Math.ceil((Buffer.byteLength(text) / 1_048_576) * 100) / 100;

/** JSON as large documents are written and read: with line breaks, one blank a level. */
export const printJson = (value: unknown): string => `${JSON.stringify(value, null, 1)}\n`;

/** True for what is nested deeper; no recursion. Cost: O(n). */
export const isDeeper = (value: unknown, depth: number): boolean => {
  let level: unknown[] = [value];
  for (let at = 0; level.length > 0; at++) {
    const next: unknown[] = [];
    for (const one of level) if (typeof one === "object" && one !== null) for (const inner of Object.values(one)) next.push(inner);
    if (next.length > 0 && at >= depth && next.some((one) => typeof one === "object" && one !== null)) return true;
    level = next;
  }
  return false;
};

/** Line and column of a part's value, then of its name, and its members by name. */
type Places = readonly [number, number, number, number, Readonly<Record<string, Places>>?];
const START: Places = [1, 1, 1, 1];

/** A document on its way from another thread: the value, and the places as one text, which costs nothing until somebody asks for one. */
export interface PackedYaml {
  readonly file: string;
  readonly value: unknown;
  readonly places: string;
}

/** Longest message of an issue, characters. */
const MAX_MESSAGE = 1000;

const withPlaces = (file: string, value: unknown, look: () => Places): YamlDocument & { readonly places: () => Places } => {
  let known: Places | undefined;
  const places = (): Places => (known ??= look());
  const at = (path: Path): Places => {
    let found = places();
    for (const name of path.map(String)) {
      const members = found[4] ?? {};
      const inner = Object.hasOwn(members, name) ? members[name] : undefined;
      if (inner === undefined) return found;
      found = inner;
    }
    return found;
  };
  const placeOf = (path: Path): Place => ({ line: at(path)[0], column: at(path)[1] });
  const keyPlaceOf = (path: Path): Place => ({ line: at(path)[2], column: at(path)[3] });
  const issue: YamlDocument["issue"] = (path, message, { onKey = false, ...more } = {}) => ({
    path: placeInValue(path),
    message: message.length > MAX_MESSAGE ? `${message.slice(0, MAX_MESSAGE)}…` : message,
    ...more,
    file,
    ...(onKey ? keyPlaceOf(path) : placeOf(path)),
  });
  return { file, value, placeOf, keyPlaceOf, issue, places };
};

/** For another thread, which unpacks it. */
export const packYaml = (document: YamlDocument): PackedYaml => {
  const { file, value, places } = document as ReturnType<typeof withPlaces>;
  return { file, value, places: JSON.stringify(places()) };
};
export const unpackYaml = ({ file, value, places }: PackedYaml): YamlDocument =>
  withPlaces(file, value, () => JSON.parse(places) as Places);

/** Where each part stands. Cost: O(n), whatever the length of names. */
const placesOf = ({ contents }: Document, lines: LineCounter): Places => {
  const place = (node: unknown): readonly [number, number] | undefined => {
    if (!isNode(node)) return undefined;
    const { line, col } = lines.linePos(node.range?.[0] ?? 0);
    return [Math.max(line, 1), Math.max(col, 1)];
  };
  const enter = (node: unknown, key: readonly [number, number], holder: readonly [number, number]): Places => {
    const own = place(node) ?? holder;
    const members: Record<string, Places> = {};
    if (isMap(node))
      for (const { key: name, value } of node.items)
        if (isScalar(name)) members[String(name.value)] = enter(value, place(name) ?? own, own);
    if (isSeq(node)) for (const [index, item] of node.items.entries()) members[String(index)] = enter(item, place(item) ?? own, own);
    return [...own, ...key, members];
  };
  return enter(contents, place(contents) ?? [1, 1], [1, 1]);
};

/** A member of this name is an object's prototype to whoever does not take care. */
const SHARED = "__proto__";
const findShared = (document: Document): number | undefined => {
  let at: number | undefined;
  visit(document, {
    Pair: (_key, { key }) => {
      if (!isScalar(key) || key.value !== SHARED) return undefined;
      at = key.range?.[0];
      return visit.BREAK;
    },
  });
  return at;
};

/** What a number that no double holds has in it, as far as a search tells. */
const MAYBE_INEXACT = /[\d._]{16}|[eE][-+]?\d{3}|0x/;
const BOUNDS: ReadonlySet<unknown> = new Set(["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"]);

/** Where numbers stand that no double holds, or that would be sent in other digits, and what is wrong with each. */
const findInexact = (document: Document, text: string, sent: string | undefined): readonly (readonly [at: number, message: string])[] => {
  const found: [number, string][] = [];
  if (!MAYBE_INEXACT.test(text) && (sent === undefined || !text.includes(sent))) return found;
  const isNamed = (holder: unknown, is: (name: unknown) => boolean): boolean =>
    isPair(holder) && isScalar(holder.key) && is(holder.key.value);
  visit(document, {
    Scalar: (_key, { value, source = "", range }, path) => {
      if (typeof value !== "number") return;
      const [at] = range ?? [0];
      const literal = source.replace(/^\+/, "");
      const isInexact = !Number.isSafeInteger(value) && (isJsonNumber(literal) ? !isHeld(literal) : Number.isInteger(value));
      if (isInexact && !isNamed(path.at(-1), (name) => BOUNDS.has(name)))
        found.push([at, "is a number that no double holds: write it in quotes"]);
      else if (String(value) !== source && path.some((holder) => isNamed(holder, (name) => name === sent)))
        found.push([at, `would be sent as ${value}: write it so, or in quotes for the digits as they are`]);
    },
  });
  return found.slice(0, MAX_ISSUES);
};

/** Where the first alias stands, of those that stand within what they stand for or of all. */
const findAlias = (document: Document, which: "circular" | "any"): number | undefined => {
  let at: number | undefined;
  visit(document, {
    Alias: (_key, node, path) => {
      if (which === "circular") {
        // Once: it is looked for in all of the document.
        const target = node.resolve(document);
        if (!path.some((holder) => holder === target)) return undefined;
      }
      at = node.range?.[0];
      return visit.BREAK;
    },
  });
  return at;
};
