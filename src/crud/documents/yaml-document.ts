import { isMap, isNode, isPair, isSeq, LineCounter, parseDocument, type Node, type Pair } from "yaml";
import type { z } from "zod";
import type { Fault } from "#contract/problem.ts";
import { findRefusedToken, type Place } from "./yaml-depth.ts";

/** Where a file stops being read at all: more is a fault, not a slow start. */
const MAX_BYTES = 262_144;
const MAX_DEPTH = 40;

export type Path = readonly (string | number)[];

export interface YamlFile {
  /** As it is shown in faults, relative to the configuration folder. */
  readonly file: string;
  readonly value: unknown;
  /** Where a member's value stands; the nearest holder's place if it is absent. */
  placeOf(path: Path): Place;
  /** Where a member's name stands. */
  keyPlaceOf(path: Path): Place;
  fault(path: Path, message: string, more?: { readonly code?: string; readonly hint?: string; readonly onKey?: boolean }): Fault;
}

export interface ReadYaml {
  readonly document?: YamlFile;
  readonly faults: readonly Fault[];
}

export const pointerOf = (path: Path): string =>
  path.map((part) => `/${String(part).replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");

/** Reads YAML 1.2 without anchors, aliases, tags or repeated keys; every fault has file, line and column. */
export const readYaml = (text: string, file: string): ReadYaml => {
  if (Buffer.byteLength(text) > MAX_BYTES) return { faults: [{ path: "", message: `is larger than ${MAX_BYTES} bytes`, file }] };
  const refused = findRefusedToken(text, MAX_DEPTH);
  if (refused !== undefined) return { faults: [{ path: "", file, ...refused }] };
  const lines = new LineCounter();
  const document = parseDocument(text, { version: "1.2", lineCounter: lines, uniqueKeys: true, prettyErrors: false, stringKeys: true });
  const place = (offset: number): Place => {
    const { line, col } = lines.linePos(offset);
    return { line: Math.max(line, 1), column: Math.max(col, 1) };
  };
  const problems = [...document.errors, ...document.warnings];
  if (problems.length > 0) {
    return { faults: problems.map((error) => ({ path: "", message: error.message, code: "yaml", file, ...place(error.pos[0]) })) };
  }
  const find = (path: Path): { node?: Node | undefined; pair?: Pair | undefined } => {
    let node: unknown = document.contents;
    let found: { node?: Node | undefined; pair?: Pair | undefined } = { node: isNode(node) ? node : undefined };
    for (const part of path) {
      let pair: Pair | undefined;
      if (isMap(node)) {
        pair = node.items.find((item) => isPair(item) && String(item.key) === String(part));
        node = pair?.value;
      } else if (isSeq(node)) node = node.items[Number(part)];
      else return found;
      if (node === undefined && pair === undefined) return found;
      found = { node: isNode(node) ? node : found.node, pair };
    }
    return found;
  };
  const placeOf = (path: Path): Place => place(find(path).node?.range?.[0] ?? 0);
  const keyPlaceOf = (path: Path): Place => {
    const key = find(path).pair?.key;
    return isNode(key) ? place(key.range?.[0] ?? 0) : placeOf(path);
  };
  return {
    faults: [],
    document: {
      file,
      value: document.toJS(),
      placeOf,
      keyPlaceOf,
      fault: (path, message, more = {}) => ({
        path: pointerOf(path),
        message,
        ...(more.code === undefined ? {} : { code: more.code }),
        ...(more.hint === undefined ? {} : { hint: more.hint }),
        file,
        ...(more.onKey === true ? keyPlaceOf(path) : placeOf(path)),
      }),
    },
  };
};

/** Faults of a zod check, each at its place in the file; for an unknown key the nearest known word is the hint. */
export const schemaFaults = (document: YamlFile, error: z.ZodError, known: readonly string[] = []): Fault[] =>
  error.issues.flatMap((issue) => {
    const path = issue.path.filter((part) => typeof part !== "symbol");
    if (issue.code === "unrecognized_keys") {
      return issue.keys.map((key) => {
        const hint = nearest(key, known);
        return document.fault([...path, key], "is not known here", {
          code: "unknown",
          onKey: true,
          ...(hint === undefined ? {} : { hint: `did you mean ${hint}?` }),
        });
      });
    }
    if (issue.code === "invalid_union") {
      const branch = issue.errors.toSorted((a, b) => (b[0]?.path.length ?? 0) - (a[0]?.path.length ?? 0))[0]?.[0];
      if (branch !== undefined)
        return [document.fault([...path, ...branch.path.filter((part) => typeof part !== "symbol")], branch.message)];
    }
    return [document.fault(path, issue.message)];
  });

const nearest = (word: string, known: readonly string[]): string | undefined =>
  known
    .map((candidate) => ({ candidate, distance: editDistance(word.toLowerCase(), candidate.toLowerCase()) }))
    .filter(({ distance }) => distance <= Math.max(1, Math.floor(word.length / 3)))
    .toSorted((a, b) => a.distance - b.distance)[0]?.candidate;

const editDistance = (from: string, to: string): number => {
  let row = Array.from({ length: to.length + 1 }, (_unused, index) => index);
  for (let i = 1; i <= from.length; i++) {
    const next = [i];
    for (let j = 1; j <= to.length; j++) {
      const change = (row[j - 1] ?? 0) + (from[i - 1] === to[j - 1] ? 0 : 1);
      next.push(Math.min(change, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[to.length] ?? 0;
};
