import { CST, Lexer } from "yaml";

/** Why a secrets file is refused, and where (both from 1). The text never repeats content. */
export class VaultFault extends Error {
  override readonly name = "VaultFault";
  readonly line: number | undefined;
  readonly column: number | undefined;
  constructor(message: string, line?: number, column?: number, options?: ErrorOptions) {
    super(line === undefined ? message : `${message} (line ${line}, column ${column ?? 1})`, options);
    this.line = line;
    this.column = column;
  }
}

export const MAX_DEPTH = 32;

const refusedTokens: Readonly<Record<string, string>> = {
  anchor: "anchors are not allowed",
  alias: "aliases are not allowed",
  tag: "tags are not allowed",
  "directive-line": "directives are not allowed",
};
const flowStarts: ReadonlySet<string> = new Set(["flow-map-start", "flow-seq-start"]);
const flowEnds: ReadonlySet<string> = new Set(["flow-map-end", "flow-seq-end", "flow-error-end"]);
const blockIndicators: ReadonlySet<string> = new Set(["seq-item-ind", "explicit-key-ind", "map-value-ind"]);
const blanks: ReadonlySet<string> = new Set(["space", "newline", "comment", "byte-order-mark"]);

/**
 * Walks the tokens before anything is composed: composing recurses, so deep nesting must be refused here. Depth is
 * counted in open brackets plus open indentation columns. Cost: O(n), no recursion. Throws `VaultFault`.
 */
export const requireLexicalBounds = (text: string): void => {
  let line = 1;
  let column = 1;
  let flow = 0;
  let mayOpenBlock = true;
  let isScalar = false;
  const columns: number[] = [];
  for (const token of new Lexer().lex(text)) {
    const type: string = isScalar ? "text" : (CST.tokenType(token) ?? "text");
    // Two tokens have no width of their own: where a document begins, and that a scalar's text comes next.
    isScalar = type === "scalar";
    if (isScalar || type === "doc-mode") continue;
    const refused = refusedTokens[type];
    if (refused !== undefined) throw new VaultFault(refused, line, column);
    if (flowStarts.has(type)) flow++;
    else if (flowEnds.has(type)) flow = Math.max(0, flow - 1);
    if (!blanks.has(type)) {
      if (flow === 0 && mayOpenBlock) {
        while ((columns.at(-1) ?? 0) > column) columns.pop();
        if (columns.at(-1) !== column) columns.push(column);
      }
      if (flow + columns.length > MAX_DEPTH) throw new VaultFault(`nesting deeper than ${MAX_DEPTH} is not allowed`, line, column);
      // After an indicator that begins a line another level may open on the same line, after a key or a text none.
      if (!blockIndicators.has(type)) mayOpenBlock = false;
    }
    const lastBreak = token.lastIndexOf("\n");
    if (lastBreak < 0) column += token.length;
    else {
      line += token.split("\n").length - 1;
      column = token.length - lastBreak;
      mayOpenBlock = true;
    }
  }
};
