import type { RoutePattern } from "./route-pattern.ts";

interface TrieNode<T> {
  readonly literals: Map<string, TrieNode<T>>;
  capture: TrieNode<T> | undefined;
  /** What stands at a pattern that ends here. */
  here: T[];
  /** What stands at a pattern that ends here with `*`. */
  rest: T[];
}

/** What a path led to: all that stands at the most specific pattern, and the captured pieces in order. */
export interface TrieHit<T> {
  readonly values: readonly T[];
  readonly captured: readonly string[];
  /** By a pattern that ends with `*`. */
  readonly isRest: boolean;
}

export interface SegmentTrie<T> {
  add(pattern: RoutePattern, value: T): void;
  /**
   * The most specific pattern that matches, segment by segment: literal before `{name}` before `*`. A trailing slash behind what a
   * narrower pattern names belongs to that one: it never falls into a wider `*`, which may ask for less.
   */
  find(path: string): TrieHit<T> | undefined;
}

const emptyNode = <T>(): TrieNode<T> => ({ literals: new Map(), capture: undefined, here: [], rest: [] });

/** A trie over path segments. A look-up costs the depth of the path, and never more than the patterns allow. */
export const createSegmentTrie = <T>(): SegmentTrie<T> => {
  const root = emptyNode<T>();

  const add: SegmentTrie<T>["add"] = (pattern, value) => {
    let node = root;
    for (const segment of pattern.segments) {
      if (segment.kind === "rest") {
        node.rest.push(value);
        return;
      }
      if (segment.kind === "capture") node = node.capture ??= emptyNode<T>();
      else {
        const next = node.literals.get(segment.text) ?? emptyNode<T>();
        node.literals.set(segment.text, next);
        node = next;
      }
    }
    node.here.push(value);
  };

  const walk = (node: TrieNode<T>, segments: readonly string[], at: number, captured: readonly string[]): TrieHit<T> | undefined => {
    const segment = segments[at];
    if (segment === undefined) return node.here.length > 0 ? { values: node.here, captured, isRest: false } : undefined;
    const literal = node.literals.get(segment);
    const byLiteral = literal && walk(literal, segments, at + 1, captured);
    if (byLiteral) return byLiteral;
    if (node.capture && segment !== "") {
      const byCapture = walk(node.capture, segments, at + 1, [...captured, segment]);
      if (byCapture) return byCapture;
    }
    const rest = node.rest.length > 0 ? segments.slice(at).join("/") : "";
    return rest === "" ? undefined : { values: node.rest, captured: [...captured, rest], isRest: true };
  };

  return {
    add,
    find: (path) => {
      const segments = path.slice(1).split("/");
      const hit = walk(root, segments, 0, []);
      if (hit === undefined || segments.at(-1) !== "" || !hit.isRest) return hit;
      return walk(root, segments.slice(0, -1), 0, [])?.values === hit.values ? hit : undefined;
    },
  };
};
