import { CST, Lexer } from "yaml";
import { MAX_ISSUES } from "#contract/problem.ts";

/** A place in a text, both from 1. */
export interface Place {
  readonly line: number;
  readonly column: number;
}

export interface RefusedToken extends Place {
  readonly message: string;
}

// Tokens without a width of their own: where a document or a flow ends, that a scalar's text comes next, a byte order mark.
const CONTROL = new Set(["\u0002", "\u0018", "\u001f", "\u{feff}"]);
const INDICATORS: ReadonlySet<string | null> = new Set(["seq-item-ind", "explicit-key-ind", "map-value-ind"]);
const BLANKS: ReadonlySet<string | null> = new Set(["space", "comment", "newline"]);
const REFUSED: Readonly<Record<string, string>> = {
  anchor: "anchors are not allowed",
  alias: "aliases are not allowed",
  tag: "tags are not allowed",
  "directive-line": "directives are not allowed",
};

/**
 * Looks at tokens before anything nests, because a parser that recurses over hostile nesting dies before it could say so. Finds
 * anchors, aliases (unless allowed), tags, directives (one of another version changes what `no` means), and the first place nested
 * deeper than `depth`, with which it ends. Depth is open brackets and open columns together: it may be one short for a list at its
 * key's own column, so never more than twice the limit gets through. Cost: O(n), no recursion.
 */
export const refusedTokens = (text: string, limits: { readonly depth: number; readonly aliases?: boolean }): readonly RefusedToken[] => {
  const found: RefusedToken[] = [];
  const columns: number[] = [];
  let flow = 0;
  let place: Place = { line: 1, column: 1 };
  let isOpening = true;
  let isRaw = false;
  /** Column of what stands behind a key on its line: a level only if it turns out to be a key or an indicator itself. */
  let behindKey: number | undefined;
  const enter = (column: number): void => {
    while ((columns.at(-1) ?? 0) > column) columns.pop();
    if (columns.at(-1) !== column) columns.push(column);
  };
  for (const token of new Lexer().lex(text)) {
    if (CONTROL.has(token) && !isRaw) {
      isRaw = token === "\u001f";
      continue;
    }
    const type = isRaw ? "scalar" : CST.tokenType(token);
    isRaw = false;
    const message = type === null ? undefined : REFUSED[type];
    if (message !== undefined && !(limits.aliases === true && (type === "anchor" || type === "alias"))) found.push({ ...place, message });
    if (found.length === MAX_ISSUES) return found;
    if (!BLANKS.has(type)) {
      if (flow === 0) {
        if (isOpening) enter(place.column);
        else if (type === "map-value-ind") {
          if (behindKey !== undefined) enter(behindKey);
          behindKey = undefined;
        } else if (INDICATORS.has(type)) enter(place.column);
        else behindKey ??= place.column;
      }
      isOpening &&= INDICATORS.has(type);
    }
    if (type === "flow-map-start" || type === "flow-seq-start") flow++;
    if (type === "flow-map-end" || type === "flow-seq-end") flow = Math.max(0, flow - 1);
    if (columns.length + flow > limits.depth) return [...found, { ...place, message: `is nested deeper than ${limits.depth}` }];
    place = after(place, token);
    if (token.includes("\n")) {
      isOpening = true;
      behindKey = undefined;
    }
  }
  return found;
};

const after = (place: Place, token: string): Place => {
  const last = token.lastIndexOf("\n");
  if (last === -1) return { line: place.line, column: place.column + token.length };
  return { line: place.line + token.split("\n").length - 1, column: token.length - last };
};
