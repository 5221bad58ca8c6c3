import { readFile, realpath } from "node:fs/promises";
import { dirname, join } from "node:path";
import { findPackageJSON } from "node:module";
import { Problem } from "#contract/problem.ts";

/** What is really started: no shell, no search of a PATH. */
export interface StartCommand {
  readonly file: string;
  readonly args: readonly string[];
}

export type FindCommand = (command: string) => Promise<StartCommand>;

const readJson = async (file: string): Promise<Record<string, unknown>> =>
  JSON.parse(await readFile(file, "utf8")) as Record<string, unknown>;

const binsOf = (manifest: Record<string, unknown>): Readonly<Record<string, string>> => {
  const bin = manifest["bin"];
  if (typeof bin === "string") return { [String(manifest["name"]).replace(/^@[^/]+\//, "")]: bin };
  return typeof bin === "object" && bin !== null ? (bin as Record<string, string>) : {};
};

/**
 * Finds an allowed command among the bins of the packages that this house depends on, and runs its script by the Node that
 * runs the house. `node` itself is allowed by name too. Reads manifests at the first use only.
 */
export const createCommandFinder = (allowed: readonly string[]): FindCommand => {
  let known: Promise<ReadonlyMap<string, string>> | undefined;
  const scan = async (): Promise<ReadonlyMap<string, string>> => {
    const own = findPackageJSON("..", import.meta.url);
    if (own === undefined) return new Map();
    const dependencies = Object.keys(((await readJson(own))["dependencies"] as Record<string, string> | undefined) ?? {});
    const found = new Map<string, string>();
    for (const name of dependencies) {
      const file = join(dirname(own), "node_modules", name, "package.json");
      const manifest = await readJson(file).catch(() => undefined);
      for (const [bin, script] of Object.entries(manifest === undefined ? {} : binsOf(manifest)))
        found.set(bin, join(dirname(file), script));
    }
    return found;
  };
  return async (command) => {
    if (!allowed.includes(command)) throw new Problem("upstream_error", { detail: "The command is not in the list of allowed ones." });
    if (command === "node") return { file: process.execPath, args: [] };
    known ??= scan();
    const script = (await known).get(command);
    if (script === undefined) throw new Problem("upstream_error", { detail: "The command is not installed." });
    return { file: process.execPath, args: [await realpath(script)] };
  };
};
