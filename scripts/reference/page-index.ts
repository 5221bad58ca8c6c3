import { globSync, readFileSync } from "node:fs";
import { join, matchesGlob } from "node:path";
import { list, wrap } from "./markdown.ts";

const folder = join(import.meta.dirname, "../../docs");

const sections: readonly (readonly [title: string, about: string, pages: string])[] = [
  ["Tutorial", "Learn by doing, from an empty machine to a first governed call.", "tutorial/*.md"],
  ["How-to", "One task a page.", "howto/*.md"],
  ["Reference", "Every setting, field, event, error and metric. The code makes these pages.", "reference/*.md"],
  ["Explanation", "How Sallyport works, and why.", "explanation/*.md"],
  ["Decisions", "What was decided, against what, and when to reconsider.", "adr/README.md"],
];

const titleOf = (text: string): string => /^# (.+)$/m.exec(text)?.[1] ?? "";

/** The index of all pages: those of the folder, and those that `made` is about to write there. File name to text. */
export const pageIndexFiles = (made: ReadonlyMap<string, string>): ReadonlyMap<string, string> => {
  const rowsOf = (pattern: string): readonly string[] =>
    [...new Set([...globSync(pattern, { cwd: folder }), ...[...made.keys()].filter((name) => matchesGlob(name, pattern))])]
      .toSorted()
      .map((name) => `[${titleOf(made.get(name) ?? readFileSync(join(folder, name), "utf8"))}](${name})`);
  const text = [
    "# Documentation",
    "",
    wrap("`npm run docs` makes this index from the pages' titles. Whoever changes the code reads [CONTRIBUTING](../CONTRIBUTING.md)."),
    ...sections.flatMap(([title, about, pattern]) => {
      const rows = rowsOf(pattern);
      return rows.length === 0 ? [] : ["", `## ${title}`, "", about, "", ...list(rows)];
    }),
    "",
    "OpenAPI documents of the services lie in `reference/openapi/`, JSON Schemas of events in `reference/events/`.",
    "",
  ].join("\n");
  return new Map([["README.md", text]]);
};
