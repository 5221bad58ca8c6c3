import { CST, isAlias, isMap, isNode, isPair, isScalar, Lexer, LineCounter, parseDocument, visit, type Document } from "yaml";
import type { Fault } from "#contract/problem.ts";

/** A configuration file as it was read: its values, and where each stands. */
export interface YamlSource {
  readonly file: string;
  readonly value: unknown;
  /** Line and column of the value at a path of keys and indexes; of its nearest parent when it is absent. */
  placeOf(path: readonly PropertyKey[]): { readonly line: number; readonly column: number };
  /** The same for a key itself, e.g. one that should not be there. */
  placeOfKey(path: readonly PropertyKey[], key: string): { readonly line: number; readonly column: number };
}

const MAX_BYTES = 1_048_576;
const MAX_DEPTH = 20;

/** Counts nesting on the tokens alone: the parser behind it recurses, so it never sees what is nested too deeply. */
const isTooDeep = (text: string): boolean => {
  let flow = 0;
  let indicators = 0;
  for (const token of new Lexer().lex(text)) {
    switch (CST.tokenType(token)) {
      case "flow-map-start":
      case "flow-seq-start":
        flow += 1;
        break;
      case "flow-map-end":
      case "flow-seq-end":
        flow -= 1;
        break;
      case "seq-item-ind":
      case "explicit-key-ind":
        indicators += 1;
        break;
      case "newline":
        indicators = 0;
        break;
      default:
        break;
    }
    if (flow > MAX_DEPTH || indicators > MAX_DEPTH) return true;
  }
  return false;
};

const refusedNodes = (document: Document, at: (offset: number) => { line: number; column: number }, file: string): Fault[] => {
  const faults: Fault[] = [];
  const add = (offset: number | undefined, message: string) => faults.push({ path: "", message, file, ...at(offset ?? 0) });
  visit(document, (_key, node, path) => {
    if (isAlias(node)) add(node.range?.[0], "aliases are not allowed");
    else if (isNode(node)) {
      if ("anchor" in node && node.anchor !== undefined) add(node.range?.[0], "anchors are not allowed");
      if (node.tag !== undefined) add(node.range?.[0], "tags are not allowed");
    }
    if (isPair(node) && !(isScalar(node.key) && typeof node.key.value === "string")) {
      const key = node.key;
      if (!isScalar(key) || typeof key.value !== "number") add(isNode(key) ? key.range?.[0] : undefined, "a key must be text");
    }
    if (path.filter((parent) => !isPair(parent)).length > MAX_DEPTH) {
      add(isNode(node) ? node.range?.[0] : undefined, `nested deeper than ${MAX_DEPTH}`);
      return visit.BREAK;
    }
    return undefined;
  });
  return faults;
};

/**
 * Reads YAML 1.2 that has one reading: at most 1 MiB and 20 levels, no alias, anchor, tag or repeated key. Answers the
 * source, or every fault with its place.
 */
export const readYaml = (
  text: string,
  file: string,
): { readonly source: YamlSource; readonly faults: readonly [] } | { readonly faults: readonly Fault[] } => {
  if (Buffer.byteLength(text) > MAX_BYTES) return { faults: [{ path: "", message: "is larger than 1 MiB", file, line: 1, column: 1 }] };
  if (isTooDeep(text)) return { faults: [{ path: "", message: `is nested deeper than ${MAX_DEPTH}`, file, line: 1, column: 1 }] };
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, version: "1.2", uniqueKeys: true, prettyErrors: false, strict: true });
  const at = (offset: number) => {
    const { line, col } = lines.linePos(offset);
    return { line: Math.max(line, 1), column: Math.max(col, 1) };
  };
  const faults: Fault[] = [...document.errors, ...document.warnings].map((error) => ({
    path: "",
    message: error.message,
    file,
    ...at(error.pos[0]),
  }));
  faults.push(...refusedNodes(document, at, file));
  if (faults.length > 0) return { faults };
  const placeOf: YamlSource["placeOf"] = (path) => {
    for (let length = path.length; length >= 0; length--) {
      const node = length === 0 ? document.contents : document.getIn(path.slice(0, length), true);
      if (isNode(node) && node.range) return at(node.range[0]);
    }
    return { line: 1, column: 1 };
  };
  const placeOfKey: YamlSource["placeOfKey"] = (path, key) => {
    const node = path.length === 0 ? document.contents : document.getIn(path, true);
    if (isMap(node)) {
      for (const pair of node.items) if (isScalar(pair.key) && pair.key.value === key && pair.key.range) return at(pair.key.range[0]);
    }
    return placeOf(path);
  };
  return { source: { file, value: document.toJS({ maxAliasCount: 0 }), placeOf, placeOfKey }, faults: [] };
};
