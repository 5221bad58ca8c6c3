// `npm run docs`: writes docs/reference/, and the table of abilities in docs/explanation/secrets.md, from the code. With --check it only compares.
import { globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { configurationFiles } from "./reference/configuration.ts";
import { documentFiles } from "./reference/documents.ts";
import { eventSchemaFiles } from "./reference/event-schemas.ts";
import { openApiFiles } from "./reference/openapi.ts";
import { secretAbilityFiles } from "./reference/secret-abilities.ts";
import { requireOptions } from "./options.ts";

const { values } = requireOptions(
  `npm run docs [-- --check]

Writes docs/reference/ from the contract, the settings and the shapes of configuration files.
  --check    compares, changes nothing and ends with 1 on a difference
`,
  { check: { type: "boolean" } },
);

const folder = join(import.meta.dirname, "..", "docs", "reference");

const read = (name: string): string | undefined => {
  try {
    return readFileSync(join(folder, name), "utf8");
  } catch {
    return undefined;
  }
};

/** `npm run bench -- --keep` writes this page. */
const byBench = "benchmarks.md";
const strays = globSync("**/*.{md,json}", { cwd: folder, exclude: [byBench] }).filter((name) => !made.has(name));
const stale = [...made].filter(([name, text]) => read(name) !== text).map(([name]) => name);

if (values["check"] === true) {
  for (const name of [...stale, ...strays]) console.error(`docs/reference/${name} is not what the code says; run npm run docs`);
  process.exit(stale.length + strays.length === 0 ? 0 : 1);
}

for (const name of strays) rmSync(join(folder, name));
for (const name of stale) {
  mkdirSync(dirname(join(folder, name)), { recursive: true });
  writeFileSync(join(folder, name), made.get(name) ?? "");
}
console.log(stale.length + strays.length === 0 ? "docs/reference is up to date" : `docs/reference: ${[...stale, ...strays].join(", ")}`);
