// `npm run fix`: everything that a tool can mend by itself: formatting, some lint, the generated docs.
import { join } from "node:path";
import { runStep, type Step } from "./checks/steps.ts";
import { requireOptions } from "./options.ts";

requireOptions("npm run fix\n\nMends what a tool can mend by itself: lint, format, the generated docs. No options.\n");

const root = join(import.meta.dirname, "..");
const mends: readonly Step[] = [
  { name: "lint", script: "node_modules/oxlint/bin/oxlint", arguments: ["--type-aware", "--fix"], mend: "" },
  { name: "format", script: "node_modules/oxfmt/bin/oxfmt", arguments: ["."], mend: "" },
  { name: "docs", script: "scripts/docs.ts", arguments: [], mend: "" },
];

let failed = 0;
for (const step of mends) {
  const outcome = await runStep(step, root);
  console.log(`${outcome.passed ? "ok    " : "LEFT  "} ${outcome.name}`);
  if (outcome.passed) continue;
  failed++;
  console.log(outcome.output.trimEnd());
}
process.exit(failed === 0 ? 0 : 1);
