import { parseExactJson, rawNumberPaths } from "#contract/exact-numbers.ts";
import type { Issue } from "#contract/problem.ts";
import { nearestWord } from "#parsing/nearest-word.ts";
import { edgeKindNames, edgeKindRow, isNodeKind, nodeKindNames, nodeKindRow, propNames } from "#membership/model/kinds.ts";
import type { CsvRow } from "./csv.ts";

/** Columns of each file; props stand behind them as `props.<name>`. */
export const csvColumns = {
  nodes: ["id", "kind", "tenant_id", "name", "display_name", "system", "state", "external_id", "digest"],
  edges: ["kind", "src", "dst", "discr", "digest", "expires_at"],
} as const;
export type CsvFile = keyof typeof csvColumns;

/** A number that no double holds would become another one: it stays text. */
const asJson = (text: string): unknown => {
  try {
    const value = parseExactJson(text);
    return rawNumberPaths(value).length === 0 ? value : text;
  } catch {
    return text;
  }
};

/** Each prop is the text itself where its kind takes a text there, else the JSON value that the text is. */
const propsOf = (kind: string | undefined, texts: Readonly<Record<string, string>>, file: CsvFile): Record<string, unknown> => {
  if (file === "edges")
    return Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, /^[[{]/.test(text) ? asJson(text) : text]));
  if (kind === undefined || !isNodeKind(kind)) return texts;
  const read = nodeKindRow(kind).props.safeParse(texts);
  const wrong = new Set(read.success ? [] : read.error.issues.map(({ path }) => path[0]));
  return Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, wrong.has(name) ? asJson(text) : text]));
};

/** Columns of the props that one kind or another has. */
const propColumns = (file: CsvFile): readonly string[] => {
  const rows = file === "nodes" ? nodeKindNames.map(nodeKindRow) : edgeKindNames.map(edgeKindRow);
  return rows.flatMap(propNames).map((name) => `props.${name}`);
};

/** What a column may have been meant for: a prop that is named without `props.` before any that is only like it. */
const columnHint = (name: string, file: CsvFile): string | undefined => {
  const props = propColumns(file);
  return props.includes(`props.${name}`) ? `props.${name}` : nearestWord(name, [...csvColumns[file], ...props]);
};

/** Makes of rows what lines of NDJSON are; the first row names the columns. */
export const createCsvLines = (file: CsvFile) => {
  let header: readonly string[] | undefined;
  /** A row means nothing without knowing its columns. */
  let isUnknown = false;
  return (row: CsvRow): { readonly value?: unknown; readonly issues?: readonly Issue[] } => {
    if (isUnknown) return {};
    if (header === undefined) {
      const [whole = "", ...further] = row.fields;
      const separator = further.length === 0 ? [";", "\t"].find((one) => whole.includes(one)) : undefined;
      if (separator !== undefined) {
        isUnknown = true;
        const shown = separator === "\t" ? "tabs" : separator;
        return { issues: [{ path: "/", message: `is parted by ${shown}: the fields of a CSV file are parted by commas`, line: row.line }] };
      }
      const known: readonly string[] = csvColumns[file];
      const unknown = row.fields.filter(
        (name, at) => (!known.includes(name) && !name.startsWith("props.")) || row.fields.indexOf(name) !== at,
      );
      isUnknown = unknown.length > 0;
      if (isUnknown)
        return {
          issues: unknown.map((name) => {
            const hint = row.fields.indexOf(name) === row.fields.lastIndexOf(name) ? columnHint(name, file) : undefined;
            const issue = { path: `/${name}`, message: "is no column, or there twice", line: row.line };
            return hint === undefined ? issue : { ...issue, hint: `did you mean ${hint}?` };
          }),
        };
      header = row.fields;
      return {};
    }
    if (row.fields.length !== header.length)
      return { issues: [{ path: "/", message: `has ${row.fields.length} fields, and the header ${header.length}`, line: row.line }] };
    const prefix = "props.";
    // An empty field is nothing: none of these may be empty.
    const fields = header.map((name, at) => [name, row.fields[at] ?? ""] as const).filter(([, text]) => text !== "");
    // Made of entries: to an object that is there a name like __proto__ would be assigned otherwise.
    const members: Readonly<Record<string, string>> = Object.fromEntries(fields.filter(([name]) => !name.startsWith(prefix)));
    const props = fields.filter(([name]) => name.startsWith(prefix)).map(([name, text]) => [name.slice(prefix.length), text] as const);
    const value = { ...members, props: propsOf(members["kind"], Object.fromEntries(props), file) };
    return { value: file === "nodes" ? { node: value } : { edge: value } };
  };
};
