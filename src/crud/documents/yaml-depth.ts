import { CST, Lexer } from "yaml";

/** A place in a text, both from 1. */
export interface Place {
  readonly line: number;
  readonly column: number;
}

export interface Refused extends Place {
  readonly message: string;
}

const CONTROL = new Set(["\u0002", "\u0018", "\u001f", "\u{feff}"]);
const NOT_ALLOWED: Readonly<Record<string, string>> = {
  anchor: "anchors are not allowed",
  alias: "aliases are not allowed",
  tag: "tags are not allowed",
};

/**
 * Looks at tokens before anything nests: text nested deeper than `limit`, an anchor, an alias or a tag is found here,
 * because a parser that recurses over hostile nesting dies before it could say so. Block nesting is read from columns, so
 * the count may be one short for a list at its key's own column; never more than twice the limit gets through.
 */
export const findRefusedToken = (text: string, limit: number): Refused | undefined => {
  const columns: number[] = [];
  let flow = 0;
  let place: Place = { line: 1, column: 1 };
  let opensBlock = true;
  let isRaw = false;
  const enter = (): void => {
    while ((columns.at(-1) ?? 0) > place.column) columns.pop();
    if (columns.at(-1) !== place.column) columns.push(place.column);
  };
  for (const token of new Lexer().lex(text)) {
    if (CONTROL.has(token) && !isRaw) {
      isRaw = token === "\u001f";
      continue;
    }
    const type = isRaw ? "scalar" : CST.tokenType(token);
    isRaw = false;
    const fault = type === null ? undefined : NOT_ALLOWED[type];
    if (fault !== undefined) return { ...place, message: fault };
    const isBlank = type === "space" || type === "comment" || type === "newline";
    if (flow === 0 && opensBlock && !isBlank) enter();
    if (type === "flow-map-start" || type === "flow-seq-start") flow++;
    if (type === "flow-map-end" || type === "flow-seq-end") flow--;
    if (columns.length + flow > limit) return { ...place, message: `is nested deeper than ${limit}` };
    if (!isBlank) opensBlock = type === "seq-item-ind" || type === "explicit-key-ind" || type === "map-value-ind";
    place = after(place, token);
    if (type === "newline") opensBlock = true;
  }
  return undefined;
};

const after = (place: Place, token: string): Place => {
  const last = token.lastIndexOf("\n");
  if (last === -1) return { line: place.line, column: place.column + token.length };
  const lines = token.split("\n").length - 1;
  return { line: place.line + lines, column: token.length - last };
};
