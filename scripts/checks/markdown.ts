// Check `markdown`: every page by markdownlint (`.markdownlint.json`), with the rules of this project. Runs in the root.
import { globSync, readFileSync } from "node:fs";
import { lint } from "markdownlint/promise";
import type { Configuration } from "markdownlint";
import { ownRules } from "./markdown-rules.ts";

/** Pages that are not held yet. A page leaves the list once it is rewritten; an empty list holds them all. */
const exceptions: readonly string[] = [
  "README.md",
  "docs/explanation/{authzen,configuration-store,events,identity-graph,policies,routes,secrets,sessions}.md",
  "docs/howto/*.md",
  "docs/tutorial/*.md",
];

const excluded = new Set(globSync([...exceptions]));
const files = globSync(["*.md", "{config,docs,e2e,scripts,src,web}/**/*.md"], { exclude: ["**/node_modules/**"] }).filter(
  (file) => !excluded.has(file),
);
const found = await lint({
  files,
  config: JSON.parse(readFileSync(".markdownlint.json", "utf8")) as Configuration,
  customRules: [...ownRules],
});
const lines = files.flatMap((file) =>
  (found[file] ?? []).map(
    ({ lineNumber, ruleNames, ruleDescription, errorDetail }) =>
      `${file}:${lineNumber} ${ruleNames[0]} ${ruleDescription}${errorDetail === null ? "" : ` (${errorDetail})`}`,
  ),
);
for (const line of lines) console.error(line);
process.exit(lines.length === 0 ? 0 : 1);
