import { writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

/** Test files that share a process. */
const MAX_TOGETHER = 20;

/** What a test file says that looks at its whole process: its threads, its memory, its loop. */
const ALONE = /^\/\/ A process of its own: /m;

/** A test of the whole instance that has it together with others. */
const SHARED_INSTANCE = /^import .* from "\.\/shared-instance\.ts";$/m;

/** Those of the whole instance start processes of their own and take long enough each to be told apart, unless they share one instance. */
export const isAlone = (file: string, text: string): boolean => (file.startsWith("e2e/") ? !SHARED_INSTANCE.test(text) : ALONE.test(text));

/**
 * The embedded database and the engine of policies compute for long in the tests of these modules: WebAssembly that is compiled a second time
 * for speed pays there, and nowhere else (see `compiledQuickly`). They share processes with one another alone.
 */
const computesLong = (file: string): boolean => /^src\/(?:events|membership|pdp|secrets)\//.test(file);

/** Only files of one kind share a process; kinds whose processes take longest come first. */
const kindOf = (file: string): number => (file.startsWith("e2e/") ? 0 : computesLong(file) ? 1 : 2);

/**
 * Splits test files into groups that share a process each, neighbours together: to load the modules of a service, its engine of policies and
 * its databases costs more than most files' tests. Those that stay apart wait for processes that they start, and are spread among the others,
 * which compute. `processes` is how many run at a time; few files are spread over all of them.
 */
export const batchesOf = (
  files: readonly string[],
  processes: number,
  isApart: (file: string) => boolean,
): readonly (readonly string[])[] => {
  // Backwards: what waits longest stands at the end of its folder, and nothing is left to run beside what begins last.
  const alone = files.filter(isApart).toReversed();
  const others = files.filter((file) => !isApart(file));
  const size = Math.max(1, Math.min(MAX_TOGETHER, Math.ceil(others.length / processes)));
  const kinds = [...Map.groupBy(others, kindOf)].toSorted(([one], [other]) => one - other);
  const together = kinds.flatMap(([, group]) =>
    Array.from({ length: Math.ceil(group.length / size) }, (_, n) => group.slice(n * size, (n + 1) * size)),
  );
  const places = [alone.map((file) => [file]), together].flatMap((batches) =>
    batches.map((batch, n) => ({ batch, at: (n + 1) / (batches.length + 1) })),
  );
  return places.toSorted((one, other) => one.at - other.at).map(({ batch }) => batch);
};

/**
 * Each file is a suite, so that what it sets up for itself ends with it and not with the process. One is loaded after the other, each begun by
 * a promise of its own suite: Node finds the suite that a test is declared in by what the declaring code waited for.
 */
const suitesOf = (files: readonly string[]): string => {
  const named = files.map((file) => [file, pathToFileURL(resolve(file)).href]);
  return `import { describe } from "node:test";
import ${JSON.stringify(import.meta.resolve("#testing/shared.ts"))};
let loaded = Promise.resolve();
for (const [name, url] of ${JSON.stringify(named)})
  describe(name, () => {
    const turn = new Promise((begin) => void loaded.then(begin, begin));
    return (loaded = turn.then(() => import(url)));
  });
`;
};

/** What Node's test runner is given for a group: a file in `folder` that loads all of them ahead of the first test. It takes files by name. */
export const entryOf = (batch: readonly string[], folder: string, number: number): string => {
  const name = String(number).padStart(4, "0");
  const entry = join(folder, `${name}.test.mjs`);
  const loads =
    batch.length > 1 ? suitesOf(batch) : batch.map((file) => `import ${JSON.stringify(pathToFileURL(resolve(file)).href)};\n`).join("");
  if (!batch.every(computesLong)) {
    writeFileSync(entry, loads);
    return entry;
  }
  const inner = join(folder, `${name}.mjs`);
  writeFileSync(inner, loads);
  const runner = new URL("for-speed.ts", import.meta.url).href;
  writeFileSync(entry, `import { runForSpeed } from ${JSON.stringify(runner)};\nrunForSpeed(${JSON.stringify(inner)});\n`);
  return entry;
};
