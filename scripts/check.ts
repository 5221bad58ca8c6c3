// `npm run check`: format, lint, types, unused code, generated docs, Markdown, figures. Names narrow it: `npm run check -- lint types`.
import { join } from "node:path";
import { runStep, steps } from "./checks/steps.ts";
import { requireOptions } from "./options.ts";

const root = join(import.meta.dirname, "..");
const { positionals: wanted } = requireOptions(
  `npm run check [-- NAME ..]

Runs every check, or those named: ${steps.map((step) => step.name).join(", ")}.
`,
  {},
  true,
);
const unknown = wanted.filter((name) => !steps.some((step) => step.name === name));
if (unknown.length > 0) {
  console.error(`Unknown check ${unknown.join(", ")}. Known: ${steps.map((step) => step.name).join(", ")}`);
  process.exit(64);
}

let failed = 0;
for (const step of steps.filter(({ name }) => wanted.length === 0 || wanted.includes(name))) {
  const outcome = await runStep(step, root);
  console.log(`${outcome.passed ? "ok    " : "FAILED"} ${outcome.name.padEnd(10)} ${outcome.seconds.toFixed(1).padStart(6)} s`);
  if (!outcome.passed || step.isShown === true) console.log(outcome.output.trimEnd());
  if (outcome.passed) continue;
  failed++;
  if (step.mend !== "") console.log(`-> ${step.mend}`);
}
process.exit(failed === 0 ? 0 : 1);
