// `npm test`: every test, the browser's included, with the servers it starts itself. Arguments narrow it to files or folders:
// `npm test -- src/pdp e2e/story.test.ts`.
import { spawn } from "node:child_process";
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { installPrograms, programsNamedIn } from "#testing/programs.ts";
import { startPostgresServer, type PostgresServer } from "#testing/postgres-server.ts";
import { buildWebIfNeeded } from "./build-web.ts";
import { requireOptions } from "./options.ts";

const root = join(import.meta.dirname, "..");
const roots = ["src", "scripts", "web/src", "e2e"];

const isFolder = (path: string): boolean => statSync(join(root, path), { throwIfNoEntry: false })?.isDirectory() === true;

const { positionals: chosen } = requireOptions(
  `npm test [-- PATH ..]

Runs every test, the browser's included, with the servers it starts itself; or those in the files and folders named.
`,
  {},
  true,
);
const files = (chosen.length === 0 ? roots : chosen)
  .flatMap((path) => (isFolder(path) ? globSync(`${path}/**/*.test.ts`, { cwd: root }) : [path]))
  .sort();
// The browser's and the whole house's tests are heavy: they come last, one at a time.
const heavy = files.filter((file) => file.startsWith("e2e/"));
const light = files.filter((file) => !file.startsWith("e2e/"));

const say = (line: string): void => {
  process.stderr.write(`${line}\n`);
};

const kept = mkdtempSync(join(tmpdir(), "sallyport-tests-"));
const reporters = (failures: string): readonly string[] => [
  "--test-reporter=spec",
  "--test-reporter-destination=stdout",
  "--test-reporter=./scripts/failure-reporter.ts",
  `--test-reporter-destination=${failures}`,
];

const runTests = (batch: readonly string[], concurrency: number, failures: string, environment: NodeJS.ProcessEnv): Promise<number> =>
  new Promise((resolve) => {
    if (batch.length === 0) {
      resolve(0);
      return;
    }
    const child = spawn(
      process.execPath,
      [
        "--disable-warning=ExperimentalWarning",
        "--test",
        `--test-concurrency=${concurrency}`,
        "--test-timeout=240000",
        ...reporters(failures),
        ...batch,
      ],
      { cwd: root, stdio: "inherit", env: { ...environment, ENVIRONMENT: "test", NODE_TEST_CONTEXT: undefined } },
    );
    child.on("exit", (code) => resolve(code ?? 1));
  });

/** One server for the whole run. Without one the tests that need it are skipped by name, unless REQUIRE_REAL=1 forbids that. */
const startPostgres = async (): Promise<PostgresServer | undefined> => {
  try {
    return await startPostgresServer();
  } catch (error) {
    say(`NO POSTGRESQL SERVER: tests on PostgreSQL are skipped. ${String(error)}`);
    if (process.env["REQUIRE_REAL"] === "1") process.exit(1);
    return undefined;
  }
};

if (process.env["ENVIRONMENT"] === undefined) say("ENVIRONMENT is unset: running as test.");
await buildWebIfNeeded({ log: { info: (event) => say(event) } });
installPrograms([...new Set(files.flatMap((file) => programsNamedIn(readFileSync(join(root, file), "utf8"))))], say);
const postgres = await startPostgres();
let status = 1;
try {
  const environment = { ...process.env, ...(postgres === undefined ? {} : { TEST_POSTGRES_URL: postgres.url }) };
  const batches = [
    { files: light, concurrency: 2, failures: join(kept, "light") },
    { files: heavy, concurrency: 1, failures: join(kept, "heavy") },
  ];
  status = 0;
  for (const { files: batch, concurrency, failures } of batches)
    if ((await runTests(batch, concurrency, failures, environment)) !== 0) status = 1;
  // Thousands of lines later nobody finds them.
  const failed = batches.map(({ failures }) => (existsSync(failures) ? readFileSync(failures, "utf8") : "")).join("");
  if (failed !== "") say(`\nWhat failed, of all ${files.length} files:\n\n${failed}`);
} finally {
  await postgres?.stop();
  rmSync(kept, { recursive: true, force: true });
}
process.exit(status);
