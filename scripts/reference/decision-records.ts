import { globSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { table, wrap } from "./markdown.ts";

const folder = join(import.meta.dirname, "../../docs/adr");

/** The title, date and status of a record. Throws an `Error` that names the file, where its head has another form. */
const headOf = (file: string): readonly string[] => {
  const text = readFileSync(join(folder, file), "utf8");
  const number = file.slice(0, 4);
  const [, title, date, status] =
    new RegExp(`^# ${number} (.+)\\n\\n- Date: (\\d{4}-\\d{2}-\\d{2})\\n- Status: (accepted|superseded by .+)\\n`).exec(text) ?? [];
  for (const heading of ["Context", "Decision", "Consequences"])
    if (!text.includes(`\n## ${heading}\n`)) throw new Error(`docs/adr/${file} has no heading ${heading}`);
  if (title === undefined || date === undefined || status === undefined)
    throw new Error(`docs/adr/${file} does not begin with "# ${number} Title", "- Date: YYYY-MM-DD" and "- Status: accepted"`);
  return [`[${number}](${file})`, title, date, status];
};

const page = (): string =>
  [
    "# Architecture decision records",
    "",
    wrap(
      "`npm run docs` makes this index. Each record is `NNNN-title.md` with its date, its status, the context, the decision and the consequences. " +
        "A record is not changed later: a new one supersedes it, and the status of the old one says so.",
    ),
    "",
    ...table(
      ["number", "decision", "date", "status"],
      globSync("[0-9]*.md", { cwd: folder })
        .map((file) => basename(file))
        .toSorted()
        .map(headOf),
    ),
    "",
  ].join("\n");

/** The index of docs/adr. File name to text. */
export const decisionRecordFiles = (): ReadonlyMap<string, string> => new Map([["README.md", page()]]);
