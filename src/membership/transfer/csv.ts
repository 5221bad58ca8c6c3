import { Problem } from "#contract/problem.ts";

/** RFC 4180, with LF or CRLF; a field in quotes may hold both, commas, and quotes twice. */
export interface CsvRow {
  /** Of the row's first character, from 1. */
  readonly line: number;
  readonly fields: readonly string[];
}

/** A reader that is given pieces of text in their order and answers the rows that they end. Throws `import_refused` with the line. */
export const createCsvReader = (maxCharacters: number) => {
  let fields: string[] = [];
  let field = "";
  let state: "start" | "plain" | "quoted" | "closed" = "start";
  let line = 1;
  let rowLine = 1;
  let size = 0;
  /** Where the quote stands that is open. */
  let quoteLine = 1;
  let hasReturn = false;
  const refuse = (message: string, at = line): never => {
    const errors = [{ path: "/", message, code: "csv", line: at }];
    throw new Problem("import_refused", { detail: "Nothing of it was written.", errors, members: { issues: 1 } });
  };
  const endField = (): void => {
    fields.push(field);
    field = "";
    state = "start";
  };
  const endRow = (rows: CsvRow[]): void => {
    const isEmpty = fields.length === 0 && field === "" && state === "start";
    if (!isEmpty) {
      endField();
      rows.push({ line: rowLine, fields });
    }
    fields = [];
    line += 1;
    rowLine = line;
    size = 0;
  };
  const take = (character: string, rows: CsvRow[]): void => {
    if (state === "quoted") {
      if (character === '"') state = "closed";
      else {
        field += character;
        if (character === "\n") line += 1;
      }
      return;
    }
    if (hasReturn && character !== "\n") refuse("has a carriage return inside");
    hasReturn = character === "\r";
    if (character === "\n") endRow(rows);
    else if (character === ",") endField();
    else if (character === "\r") return;
    else if (character === '"') {
      if (state === "plain") refuse("has a quote inside a field that does not begin with one");
      if (state === "closed") field += '"';
      else quoteLine = line;
      state = "quoted";
    } else {
      if (state === "closed") refuse("goes on behind a closing quote");
      field += character;
      state = "plain";
    }
  };
  return {
    read: (text: string): readonly CsvRow[] => {
      const rows: CsvRow[] = [];
      for (const character of text) {
        if (++size > maxCharacters && state === "quoted")
          refuse(`has a quote that is not closed within ${maxCharacters} characters`, quoteLine);
        if (size > maxCharacters) refuse("is too long");
        take(character, rows);
      }
      return rows;
    },
    end: (): readonly CsvRow[] => {
      const rows: CsvRow[] = [];
      if (state === "quoted") refuse("has a quote that is never closed", quoteLine);
      if (fields.length > 0 || field !== "" || state !== "start") endRow(rows);
      return rows;
    },
  };
};

/** One row as CSV. */
export const csvLine = (fields: readonly string[]): string =>
  `${fields.map((field) => (/[",\r\n]/.test(field) || /^\s|\s$/.test(field) ? `"${field.replaceAll('"', '""')}"` : field)).join(",")}\n`;
