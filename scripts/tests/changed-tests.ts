import { execFileSync } from "node:child_process";
import { existsSync, globSync, readFileSync, statSync } from "node:fs";
import { basename, dirname, join, relative } from "node:path";

/** A test that a change can break, and over how many imports it reaches what was changed. */
export interface Reached {
  readonly test: string;
  readonly hops: number;
}

const SPECIFIER = /(?:from|import)\s*\(?\s*"((?:\.{1,2}\/|#)[^"]+)"/g;

const isModule = (file: string): boolean => /\.(?:m?ts|tsx|mjs)$/.test(file);

const modulesOf = (root: string): readonly (readonly [prefix: string, folder: string])[] => {
  const { imports } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { imports: Readonly<Record<string, string>> };
  return Object.entries(imports).map(([prefix, folder]) => [prefix.slice(0, -1), folder.slice(2, -1)]);
};

/** Files of the project that each of these imports, directly or over others; paths from the root. */
const readImports = (root: string, files: readonly string[]): ReadonlyMap<string, readonly string[]> => {
  const modules = modulesOf(root);
  const resolve = (file: string, specifier: string): string | undefined => {
    const module = modules.find(([prefix]) => specifier.startsWith(prefix));
    const path = module === undefined ? join(dirname(file), specifier) : join(module[1], specifier.slice(module[0].length));
    return [path, `${path}.ts`, `${path}.tsx`].find((one) => statSync(join(root, one), { throwIfNoEntry: false })?.isFile() === true);
  };
  const read = new Map<string, readonly string[]>();
  const open = [...files];
  for (let file = open.pop(); file !== undefined; file = open.pop()) {
    if (read.has(file)) continue;
    const text = isModule(file) ? readFileSync(join(root, file), "utf8") : "";
    const found = [...text.matchAll(SPECIFIER)].flatMap(([, specifier = ""]) => resolve(file, specifier) ?? []);
    read.set(file, found);
    open.push(...found);
  }
  return read;
};

/** What nothing imports is reached by whoever names it, or the folder it lies in: a policy, a migration, a row of the route table. */
const naming = (root: string, changed: string, files: Iterable<string>): readonly string[] => {
  const folder = dirname(changed);
  const words = [basename(changed), ...(isModule(changed) || !folder.includes("/") ? [] : [`${basename(folder)}/`])];
  return [...files].filter((file) => {
    const text = readFileSync(join(root, file), "utf8");
    return words.some((word) => text.includes(word));
  });
};

/**
 * Of these tests the ones that reach a changed file, nearest first: a test that was changed itself, then those that import the change,
 * then those that import what imports it.
 */
export const testsReaching = (root: string, tests: readonly string[], changed: readonly string[]): readonly Reached[] => {
  const imports = readImports(root, tests);
  const importers = new Map<string, string[]>();
  for (const [file, targets] of imports) for (const target of targets) importers.set(target, [...(importers.get(target) ?? []), file]);
  const hops = new Map<string, number>();
  let wave = [...new Set(changed.flatMap((file) => (imports.has(file) ? [file] : naming(root, file, imports.keys()))))];
  for (let distance = 0; wave.length > 0; distance += 1) {
    for (const file of wave) hops.set(file, distance);
    wave = [...new Set(wave.flatMap((file) => importers.get(file) ?? []))].filter((file) => !hops.has(file));
  }
  return tests
    .flatMap((test) => {
      const distance = hops.get(test);
      return distance === undefined ? [] : [{ test, hops: distance }];
    })
    .toSorted((one, other) => one.hops - other.hops || one.test.localeCompare(other.test));
};

/** Files that differ from a revision, those that git does not know yet included; what was removed is nowhere to be read. */
export const changedFiles = (root: string, revision: string): readonly string[] => {
  const git = (...words: string[]): readonly string[] =>
    execFileSync("git", words, { cwd: root, encoding: "utf8" })
      .split("\0")
      .filter((path) => path !== "");
  const known = git("diff", "--name-only", "--relative", "-z", revision);
  return [...new Set([...known, ...git("ls-files", "--others", "--exclude-standard", "-z")])].filter((path) =>
    existsSync(join(root, path)),
  );
};

export const allTests = (root: string, paths: readonly string[]): readonly string[] =>
  paths
    .flatMap((path) =>
      statSync(join(root, path), { throwIfNoEntry: false })?.isDirectory() === true
        ? globSync(`${path}/**/*.test.ts`, { cwd: root }).map((file) => relative(root, join(root, file)))
        : [path],
    )
    .toSorted();
