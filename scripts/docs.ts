// `npm run docs`: writes docs/reference/, the pipelines and the indexes. With --check it compares.
import { globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { configurationFiles } from "./reference/configuration.ts";
import { decisionRecordFiles } from "./reference/decision-records.ts";
import { documentFiles } from "./reference/documents.ts";
import { eventSchemaFiles } from "./reference/event-schemas.ts";
import { errorFiles } from "./reference/errors.ts";
import { metricFiles } from "./reference/metrics.ts";
import { openApiFiles } from "./reference/openapi.ts";
import { pageIndexFiles } from "./reference/page-index.ts";
import { pipelineFiles } from "./reference/pipelines.ts";
import { secretAbilityFiles } from "./reference/secret-abilities.ts";
import { requireOptions } from "./options.ts";

const { values } = requireOptions(
  `npm run docs [-- --check]

Writes docs/reference/, docs/explanation/pipelines.md and the indexes docs/README.md and docs/adr/README.md.
  --check    compares, changes nothing and ends with 1 on a difference
`,
  { check: { type: "boolean" } },
);

const folder = join(import.meta.dirname, "..", "docs");
/** `npm run bench -- --keep` writes this page. */
const byBench = "reference/benchmarks.md";
const made = new Map<string, string>(
  Object.entries({
    reference: [configurationFiles, documentFiles, openApiFiles, eventSchemaFiles, errorFiles, metricFiles],
    explanation: [pipelineFiles],
    adr: [decisionRecordFiles],
  }).flatMap(([below, makers]) => makers.flatMap((make) => [...make()].map(([name, text]) => [join(below, name), text] as const))),
);

const read = (name: string): string | undefined => {
  try {
    return readFileSync(join(folder, name), "utf8");
  } catch {
    return undefined;
  }
};

for (const [name, text] of secretAbilityFiles(read("explanation/secrets.md") ?? "")) made.set(join("reference", name), text);
for (const [name, text] of pageIndexFiles(made)) made.set(name, text);

const strays = globSync("reference/**/*.{md,json}", { cwd: folder, exclude: [byBench] }).filter((name) => !made.has(name));
const stale = [...made].filter(([name, text]) => read(name) !== text).map(([name]) => name);

if (values["check"] === true) {
  for (const name of [...stale, ...strays]) console.error(`docs/${name} is not what the code says; run npm run docs`);
  process.exit(stale.length + strays.length === 0 ? 0 : 1);
}

for (const name of strays) rmSync(join(folder, name));
for (const name of stale) {
  mkdirSync(dirname(join(folder, name)), { recursive: true });
  writeFileSync(join(folder, name), made.get(name) ?? "");
}
console.log(stale.length + strays.length === 0 ? "the generated docs are up to date" : `docs: ${[...stale, ...strays].join(", ")}`);
