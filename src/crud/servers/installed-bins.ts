import { existsSync, realpathSync } from "node:fs";
import { readFile, realpath } from "node:fs/promises";
import { dirname, join } from "node:path";
import { findPackageJSON } from "node:module";
import { pathToFileURL } from "node:url";

type Manifest = Readonly<Record<string, unknown>>;

const readJson = async (file: string): Promise<Manifest> => JSON.parse(await readFile(file, "utf8")) as Manifest;

const binsOf = (manifest: Manifest): Readonly<Record<string, string>> => {
  const bin = manifest["bin"];
  if (typeof bin === "string") return { [String(manifest["name"]).replace(/^@[^/]+\//, "")]: bin };
  return typeof bin === "object" && bin !== null ? (bin as Record<string, string>) : {};
};
const namesIn = (manifest: Manifest, ...members: readonly string[]): readonly string[] =>
  members.flatMap((member) => Object.keys((manifest[member] as Record<string, string> | undefined) ?? {}));

/** Where this program is installed. */
export const installation = dirname(findPackageJSON("..", import.meta.url) ?? import.meta.dirname);

/** Absolute path of the script of a bin of a package that this program depends on; `undefined`: there is none. */
export const findInstalledBin = async (bin: string): Promise<string | undefined> => {
  for (const name of namesIn(await readJson(join(installation, "package.json")), "dependencies")) {
    const folder = join(installation, "node_modules", name);
    const bins = binsOf(await readJson(join(folder, "package.json")).catch(() => ({})));
    if (Object.hasOwn(bins, bin)) return realpath(join(folder, bins[bin] ?? "")).catch(() => undefined);
  }
  return undefined;
};

/** Where Node finds a package that is asked for in a folder. */
const findPackage = (from: string, name: string): string | undefined => {
  for (let at = from; ; at = dirname(at)) {
    const folder = join(at, "node_modules", name);
    if (existsSync(join(folder, "package.json"))) return realpathSync(folder);
    if (at === dirname(at)) return undefined;
  }
};

/** The folder of the package that a script belongs to, and of all that it depends on: what it can load. None lies in another. */
export const packagesOf = async (script: string): Promise<readonly string[]> => {
  const own = findPackageJSON(pathToFileURL(script));
  const waiting = own === undefined ? [] : [dirname(own)];
  const folders = new Set<string>();
  for (let folder = waiting.pop(); folder !== undefined; folder = waiting.pop()) {
    if (folders.has(folder)) continue;
    folders.add(folder);
    for (const name of namesIn(await readJson(join(folder, "package.json")), "dependencies", "optionalDependencies", "peerDependencies")) {
      const found = findPackage(folder, name);
      if (found !== undefined) waiting.push(found);
    }
  }
  return [...folders].filter((folder) => ![...folders].some((other) => folder.startsWith(`${other}/`)));
};
