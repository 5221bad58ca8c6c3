/** Columns of a line of prose, and characters of a cell: what check `markdown` holds. */
export const MAX_COLUMNS = 120;

const MORE = " More below.";
const CUT = " ...";
/** Code spans whole, else runs of letters. */
const WORD = /(?:`[^`]*`|[^\s`])+/g;
/** What would begin a list, a quotation or a heading at the start of a line. */
const BEGINS_BLOCK = /^(?:[-+*>#]+|\d+[.)])$/;

/** Text in lines of at most 120 columns; `indent` stands before each but the first. A longer word keeps its line. */
export const wrap = (text: string, indent = ""): string => {
  const lines: string[] = [];
  let line = "";
  for (const word of text.match(WORD) ?? []) {
    if (line !== "" && line.length + 1 + word.length > MAX_COLUMNS && !BEGINS_BLOCK.test(word)) {
      lines.push(line);
      line = indent + word;
    } else line = line === "" ? word : `${line} ${word}`;
  }
  return [...lines, line].join("\n");
};

/** Bullets of a list, wrapped. */
export const list = (items: readonly string[]): string[] => items.map((item) => wrap(`- ${item}`, "  "));

const outsideCode = (text: string, change: (part: string) => string): string =>
  text
    .split(/(`[^`]*`)/)
    .map((part, at) => (at % 2 === 1 ? part : change(part)))
    .join("");
const escaped = (text: string): string => outsideCode(text.replaceAll("\n", " "), (part) => part.replaceAll(/\*|<(?=[a-z])/gi, "\\$&"));
const asCell = (text: string): string => escaped(text).replaceAll("|", "\\|");

/** The longest beginning of whole sentences, or else of whole words, that leaves room for a mark in a cell. */
const shortened = (text: string): { readonly head: string; readonly rest: string } => {
  let head = "";
  let sentences = "";
  for (const word of text.match(WORD) ?? []) {
    const next = head === "" ? word : `${head} ${word}`;
    if (asCell(next).length > MAX_COLUMNS - MORE.length) break;
    head = next;
    if (head.endsWith(".")) sentences = head;
  }
  return sentences === ""
    ? { head: (head + CUT).trim(), rest: text }
    : { head: sentences + MORE, rest: text.slice(sentences.length).trim() };
};

/**
 * A table with cells of at most 120 characters, and below it a list of what did not fit: by the row's first cell and, but
 * for the last column of prose, the column's name. Texts are Markdown; lines may not hold code spans that are not closed.
 */
export const table = (columns: readonly string[], rows: readonly (readonly string[])[]): string[] => {
  const notes: string[] = [];
  const lines = rows.map((cells) => {
    const shown = cells.map((text, at) => {
      if (asCell(text).length <= MAX_COLUMNS) return asCell(text);
      const { head, rest } = shortened(text);
      notes.push(`${escaped(cells[0] ?? "")}, ${columns[at]}: ${escaped(rest)}`);
      return asCell(head);
    });
    return `| ${shown.join(" | ")} |`;
  });
  return [
    `| ${columns.join(" | ")} |`,
    `|${columns.map(() => "---|").join("")}`,
    ...lines,
    ...(notes.length === 0 ? [] : ["", "Continued:", "", ...list(notes)]),
  ];
};
