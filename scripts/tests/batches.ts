import { writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

/** Test files that share a process. */
const MOST_TOGETHER = 12;

/** What a test file says that looks at its whole process: its threads, its memory, its loop. */
const ALONE = /^\/\/ A process of its own: /m;

/** A test of the whole house that has it together with others. */
const SHARED_HOUSE = /^import .* from "\.\/shared-house\.ts";$/m;

/** Those of the whole house start processes of their own and take long enough each to be told apart, unless they share one house. */
export const isAlone = (file: string, text: string): boolean => (file.startsWith("e2e/") ? !SHARED_HOUSE.test(text) : ALONE.test(text));

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
  const size = Math.max(1, Math.min(MOST_TOGETHER, Math.ceil(others.length / processes)));
  // Those that share a house share no process with others.
  const kinds = Map.groupBy(others, (file) => file.startsWith("e2e/"));
  const together = [kinds.get(true) ?? [], kinds.get(false) ?? []].flatMap((group) =>
    Array.from({ length: Math.ceil(group.length / size) }, (_, n) => group.slice(n * size, (n + 1) * size)),
  );
  const places = [alone.map((file) => [file]), together].flatMap((batches) =>
    batches.map((batch, n) => ({ batch, at: (n + 1) / (batches.length + 1) })),
  );
  return places.toSorted((one, other) => one.at - other.at).map(({ batch }) => batch);
};

/** What Node's test runner is given for a group: a file in `folder` that loads all of them ahead of the first test. It takes files by name. */
export const entryOf = (batch: readonly string[], folder: string, number: number): string => {
  const entry = join(folder, `${String(number).padStart(4, "0")}.test.mjs`);
  writeFileSync(entry, batch.map((file) => `import ${JSON.stringify(pathToFileURL(resolve(file)).href)};\n`).join(""));
  return entry;
};
