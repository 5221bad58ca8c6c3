// `npm test`: every test, the browser's included, with the servers it starts itself. Arguments narrow it to files or folders:
// `npm test -- src/pdp e2e/story.test.ts`, or to what a change can break: `npm test -- --changed`.
import { spawn } from "node:child_process";
import { existsSync, readFileSync, rmSync } from "node:fs";
import { availableParallelism, totalmem } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { installPrograms, programsNamedIn } from "#testing/programs.ts";
import { shortLived } from "#testing/short-lived.ts";
import { startPostgresServer, type PostgresServer } from "#testing/postgres-server.ts";
import { buildWebIfNeeded } from "./build-web.ts";
import { requireOptions } from "./options.ts";
import { batchesOf, entryOf, isAlone } from "./tests/batches.ts";
import { allTests, changedFiles, testsReaching } from "./tests/changed-tests.ts";
import { makeScratch } from "./tests/scratch.ts";
import { tellUsage } from "./tests/usage.ts";

const root = join(import.meta.dirname, "..");
const roots = ["src", "scripts", "web/src", "e2e"];

/** More take longer than somebody waits between two changes; what is farther off is for the whole run. */
const MAX_CHANGED = 40;

const { values, positionals: chosen } = requireOptions(
  `npm test [-- [--changed [--since REVISION]] [--profile] PATH ..]

Runs every test, the browser's included, with the servers it starts itself; or those in the files and folders named.

  --changed         only tests that import what differs from the last commit, nearest first, ${MAX_CHANGED} files at most; those of the
                    whole instance in a process of its own (e2e) only where they were changed themselves
  --since REVISION  with --changed: what differs from this revision
  --profile         says at the end which files cost most: seconds of processor, those of the processes they started included; each
                    file runs in a process of its own then, which takes longer
`,
  { changed: { type: "boolean" }, since: { type: "string" }, profile: { type: "boolean" } },
  true,
);
/** A test may be named without its ending. */
const paths = chosen.map((path) => (existsSync(join(root, `${path}.test.ts`)) ? `${path}.test.ts` : path));
const absent = paths.filter((path) => !existsSync(join(root, path)));
if (absent.length > 0) {
  console.error(`There is no ${absent.join(", no ")} here.`);
  process.exit(64);
}
const named = allTests(root, paths.length === 0 ? roots : paths);

const say = (line: string): void => {
  process.stderr.write(`${line}\n`);
};

const chooseChanged = (): readonly string[] => {
  const changed = changedFiles(root, typeof values["since"] === "string" ? values["since"] : "HEAD");
  const reached = testsReaching(root, named, changed).filter(({ test }) => !test.startsWith("e2e/") || changed.includes(test));
  const taken = reached.slice(0, MAX_CHANGED);
  say(`${changed.length} changed files reach ${reached.length} test files; running ${taken.length}.`);
  return taken.map(({ test }) => test);
};
const files = values["changed"] === true ? chooseChanged() : named;

/** What a test file may need at most: an instance, a Chromium, itself. */
const FILE_BYTES = 2.5 * 2 ** 30;

/** One more than there are processors: most files wait at times, for a process that starts or a clock. */
const concurrency = Math.max(1, Math.min(availableParallelism() + 1, Math.floor(totalmem() / FILE_BYTES)));

const isProfiled = values["profile"] === true;
const textOf = (file: string): string => readFileSync(join(root, file), "utf8");
const batches = batchesOf(files, concurrency, (file) => isAlone(file, textOf(file)));
const scratch = makeScratch(concurrency * FILE_BYTES);
process.env["TMPDIR"] = scratch;
const failures = join(scratch, "failures");
const usage = join(scratch, "usage");

const runTests = (environment: NodeJS.ProcessEnv): Promise<number> =>
  new Promise((resolve) => {
    if (files.length === 0) {
      resolve(0);
      return;
    }
    const child = spawn(
      process.execPath,
      [
        "--disable-warning=ExperimentalWarning",
        ...shortLived,
        ...(isProfiled ? ["--import", pathToFileURL(join(root, "scripts/tests/usage.ts")).href] : []),
        "--test",
        `--test-concurrency=${concurrency}`,
        `--test-timeout=${process.env["FAULTS"] === "all" ? 7_200_000 : 240_000}`,
        "--test-reporter=spec",
        "--test-reporter-destination=stdout",
        "--test-reporter=./scripts/failure-reporter.ts",
        `--test-reporter-destination=${failures}`,
        // A profile goes by the names of the files.
        ...(isProfiled ? files : batches.map((batch, number) => entryOf(batch, scratch, number))),
      ],
      { cwd: root, stdio: "inherit", env: { ...environment, ENVIRONMENT: "test", NODE_TEST_CONTEXT: undefined } },
    );
    // Ended from outside, it would leave the runner and all that tests have started behind.
    for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, () => child.kill(signal));
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
await Promise.all([
  buildWebIfNeeded({ log: { info: (event) => say(event) } }),
  installPrograms([...new Set(files.flatMap((file) => programsNamedIn(textOf(file))))], say),
]);
const postgres = await startPostgres();
let status = 1;
try {
  const environment = {
    ...process.env,
    ...(postgres === undefined ? {} : { TEST_POSTGRES_URL: postgres.url }),
    ...(isProfiled ? { SALLYPORT_TEST_USAGE: usage } : {}),
  };
  status = await runTests(environment);
  // Thousands of lines later nobody finds them.
  const failed = existsSync(failures) ? readFileSync(failures, "utf8") : "";
  if (failed !== "") say(`\nWhat failed, of all ${files.length} files:\n\n${failed}`);
  if (existsSync(usage)) say(["", ...tellUsage(readFileSync(usage, "utf8"))].join("\n"));
} finally {
  await postgres?.stop();
  // What a test started may still be writing its last.
  rmSync(scratch, { recursive: true, force: true, maxRetries: 10 });
}
process.exit(status);
