// Check `markdown`: every page by markdownlint (`.markdownlint.json`), with the rules of this project, and a page for each module.
// Runs in the root.
import { globSync, readFileSync } from "node:fs";
import { lint } from "markdownlint/promise";
import type { Configuration } from "markdownlint";
import { ownRules } from "./markdown-rules.ts";
import { modulePageIssues } from "./module-pages.ts";

const files = globSync(["*.md", "{config,docs,e2e,scripts,src,web}/**/*.md"], { exclude: ["**/node_modules/**"] });
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
lines.push(...modulePageIssues("."));
for (const line of lines) console.error(line);
process.exit(lines.length === 0 ? 0 : 1);
