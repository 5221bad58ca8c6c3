import { isMap, isNode, isScalar, isSeq, LineCounter, parseDocument, visit, type Document, type Node, type Pair } from "yaml";
import type { Fault } from "#contract/problem.ts";
import { placeOf as placeInValue } from "#contract/shape-faults.ts";
import { refusedTokens, type Place } from "./yaml-tokens.ts";

type Path = readonly PropertyKey[];

/** A document as it was read: its value, and where each part stands. */
export interface YamlDocument {
  /** As it is shown in faults. */
  readonly file: string;
  readonly value: unknown;
  /** Where a member's value stands; the nearest holder's place if it is absent. */
  placeOf(path: Path): Place;
  /** Where a member's name stands. */
  keyPlaceOf(path: Path): Place;
  /** Something wrong with the value at a path, or with the name of it. */
  fault(path: Path, message: string, more?: { readonly code?: string; readonly hint?: string; readonly onKey?: boolean }): Fault;
}

export interface YamlLimits {
  /** 1 unless said. */
  readonly mebibytes?: number;
  /** Nesting of maps and lists together; 40 unless said. */
  readonly depth?: number;
  /** How many values aliases and merge keys may stand for; none unless said. */
  readonly aliases?: number;
}

export type ReadYaml =
  | { readonly document: YamlDocument; readonly faults: readonly [] }
  | { readonly document?: undefined; readonly faults: readonly Fault[] };

/**
 * Reads YAML 1.2 that has one reading, and JSON, which is YAML: no anchor, alias, tag, directive or repeated key, every key a text, of
 * bounded size and depth. Answers the document, or every fault with file, line and column.
 */
export const readYaml = (text: string, file: string, limits: YamlLimits = {}): ReadYaml => {
  const { mebibytes = 1, depth = 40, aliases = 0 } = limits;
  if (Buffer.byteLength(text) > mebibytes * 1_048_576)
    return { faults: [{ path: "", message: `is larger than ${mebibytes} MiB`, file, line: 1, column: 1 }] };
  const refused = refusedTokens(text, { depth, aliases: aliases > 0 });
  if (refused.length > 0) return { faults: refused.map((fault) => ({ path: "", file, ...fault })) };
  const lineCounter = new LineCounter();
  const document = parseDocument(text, {
    version: "1.2",
    lineCounter,
    uniqueKeys: true,
    prettyErrors: false,
    stringKeys: true,
    merge: aliases > 0,
  });
  const place = (offset: number | undefined): Place => {
    const { line, col } = lineCounter.linePos(offset ?? 0);
    return { line: Math.max(line, 1), column: Math.max(col, 1) };
  };
  const problems = [...document.errors, ...document.warnings];
  if (problems.length > 0)
    return { faults: problems.map(({ message, pos }) => ({ path: "", message, code: "yaml", file, ...place(pos[0]) })) };
  const circular = aliases > 0 ? findAlias(document, "circular") : undefined;
  if (circular !== undefined)
    return { faults: [{ path: "", message: "an alias stands within what it stands for", code: "yaml", file, ...place(circular) }] };
  let value: unknown;
  try {
    value = document.toJS({ maxAliasCount: aliases });
  } catch (error) {
    const message = error instanceof Error ? error.message : "cannot be read";
    return { faults: [{ path: "", message, code: "yaml", file, ...place(findAlias(document, "any")) }] };
  }
  const placeOf = (path: Path): Place => place(find(document, path).node?.range?.[0]);
  const keyPlaceOf = (path: Path): Place => {
    const key = find(document, path).pair?.key;
    return isNode(key) ? place(key.range?.[0]) : placeOf(path);
  };
  const fault: YamlDocument["fault"] = (path, message, { onKey = false, ...more } = {}) => ({
    path: placeInValue(path),
    message,
    ...more,
    file,
    ...(onKey ? keyPlaceOf(path) : placeOf(path)),
  });
  return { faults: [], document: { file, value, placeOf, keyPlaceOf, fault } };
};

interface Found {
  readonly node: Node | undefined;
  readonly pair?: Pair | undefined;
}

/** What stands at a path, or the nearest thing that holds it. */
const find = ({ contents }: Document, path: Path): Found => {
  let found: Found = { node: contents ?? undefined };
  for (const part of path) {
    const holder: unknown = found.pair === undefined ? found.node : found.pair.value;
    let value: unknown;
    let pair: Pair | undefined;
    if (isMap(holder)) {
      pair = holder.items.find(({ key }) => isScalar(key) && String(key.value) === String(part));
      value = pair?.value;
    } else if (isSeq(holder)) value = holder.items[Number(part)];
    if (value === undefined && pair === undefined) break;
    found = { node: isNode(value) ? value : found.node, pair };
  }
  return found;
};

/** Where the first alias stands, of those that stand within what they stand for or of all. */
const findAlias = (document: Document, which: "circular" | "any"): number | undefined => {
  let at: number | undefined;
  visit(document, {
    Alias: (_key, node, path) => {
      if (which === "circular" && !path.some((holder) => holder === node.resolve(document))) return undefined;
      at = node.range?.[0];
      return visit.BREAK;
    },
  });
  return at;
};
