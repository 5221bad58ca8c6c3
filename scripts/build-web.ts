import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, open, readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { basename, join, relative } from "node:path";
import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";
import type { Manifest } from "vite";
import { pages } from "#contract/screens.ts";
import { isAlive } from "#store/is-alive.ts";
import { requireOptions } from "./options.ts";

/**
 * Builds the web client into web/dist, only when something it is made of has changed. Safe for several processes at
 * once: one builds, the others wait and find it built. A build that fails leaves no half of itself behind.
 */

const root = join(import.meta.dirname, "..");
const distFolder = join(root, "web", "dist");
const markerFile = join(distFolder, ".built");
const cacheFolder = join(root, ".cache");
const lockFile = join(cacheFolder, "build-web.lock");

/** What goes into the page. */
const sources = ["web", "src/contract", "package-lock.json", "scripts/build-web.ts"];
const ignored = new Set(["dist", "node_modules"]);

const kB = 1000;

/** Limit after gzip of all styles together. */
const MAX_STYLE_BYTES = 38 * kB;
/** Limit after gzip of what a form made of a schema adds to the page that opens it. */
const MAX_FORM_BYTES = 115 * kB;
/** Limit after gzip of what the drawing of a run adds to its page. */
const MAX_FLOW_BYTES = 95 * kB;

export interface BuildLog {
  info(event: string, fields?: Readonly<Record<string, unknown>>): void;
}

const filesUnder = async (path: string): Promise<readonly string[]> => {
  const full = join(root, path);
  if (!existsSync(full)) return [];
  if ((await stat(full)).isFile()) return [full];
  const entries = await readdir(full, { withFileTypes: true, recursive: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter(
      (file) =>
        !relative(full, file)
          .split(/[\\/]/)
          .some((part) => ignored.has(part)) && !/\.test\.tsx?$/.test(file),
    );
};

const digestOfSources = async (): Promise<string> => {
  const hash = createHash("sha256");
  const files = (await Promise.all(sources.map(filesUnder))).flat();
  for (const file of files.toSorted())
    hash
      .update(relative(root, file).replaceAll("\\", "/"))
      .update("\0")
      .update(await readFile(file))
      .update("\0");
  return hash.digest("hex");
};

const isBuilt = async (digest: string): Promise<boolean> => existsSync(markerFile) && (await readFile(markerFile, "utf8")) === digest;

const sleep = async (milliseconds: number): Promise<void> => await new Promise((resolve) => setTimeout(resolve, milliseconds));

/** Holds the one lock; a lock whose process is gone is taken over. */
const takeLock = async (): Promise<AsyncDisposable> => {
  await mkdir(cacheFolder, { recursive: true });
  for (;;) {
    const file = await open(lockFile, "wx").catch((error: NodeJS.ErrnoException) => {
      if (error.code !== "EEXIST") throw error;
      return undefined;
    });
    if (file !== undefined) {
      await file.writeFile(String(process.pid));
      await file.close();
      return { [Symbol.asyncDispose]: async () => await rm(lockFile, { force: true }) };
    }
    const holder = Number(await readFile(lockFile, "utf8").catch(() => ""));
    const written = await stat(lockFile).catch(() => undefined);
    const age = written === undefined ? 0 : Date.now() - written.mtimeMs;
    if ((holder > 0 && !isAlive(holder)) || (holder === 0 && age > 5_000)) await rm(lockFile, { force: true });
    else await sleep(200);
  }
};

const brotli = async (bytes: Buffer): Promise<Buffer> =>
  await promisify(brotliCompress)(bytes, {
    params: { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length },
  });
const gzipped = async (bytes: Buffer): Promise<Buffer> => await promisify(gzip)(bytes, { level: 9 });

/** Compressed twins beside each asset that gains from it. Answers the gzip size of every asset by its path. */
const compress = async (folder: string): Promise<ReadonlyMap<string, number>> => {
  const sizes = new Map<string, number>();
  const assets = join(folder, "assets");
  for (const name of await readdir(assets)) {
    if (!/\.(js|css|svg)$/.test(name)) continue;
    const bytes = await readFile(join(assets, name));
    const [small, smaller] = [await gzipped(bytes), await brotli(bytes)];
    if (bytes.length > 1024) {
      await writeFile(join(assets, `${name}.gz`), small);
      await writeFile(join(assets, `${name}.br`), smaller);
    }
    sizes.set(`assets/${name}`, small.length);
  }
  return sizes;
};

/** Files that a chunk needs before it runs: itself and what it imports, not what it may load later. */
const closureOf = (manifest: Manifest, key: string, seen = new Set<string>()): ReadonlySet<string> => {
  const chunk = manifest[key];
  if (chunk === undefined || seen.has(chunk.file)) return seen;
  seen.add(chunk.file);
  for (const imported of chunk.imports ?? []) closureOf(manifest, imported, seen);
  return seen;
};

export interface Weight {
  readonly name: string;
  readonly bytes: number;
  readonly max: number;
}

const entryOf = (file: string): string => `src/pages/${file}.tsx`;

/** The shell with Home, the styles, and what each page and each large part adds. */
const weigh = (manifest: Manifest, sizes: ReadonlyMap<string, number>): readonly Weight[] => {
  const sum = (files: Iterable<string>): number => [...files].reduce((total, file) => total + (sizes.get(file) ?? 0), 0);
  const initial = closureOf(manifest, "index.html");
  const added = (entry: string, before = initial): number => sum(closureOf(manifest, entry).difference(before));
  const run = initial.union(closureOf(manifest, entryOf("runs/run-page")));
  return [
    { name: "styles", bytes: sum([...sizes.keys()].filter((file) => file.endsWith(".css"))), max: MAX_STYLE_BYTES },
    { name: "forms", bytes: added("src/forms/schema-form.tsx"), max: MAX_FORM_BYTES },
    { name: "flow", bytes: added("src/pages/runs/run-diagram.tsx", run), max: MAX_FLOW_BYTES },
    ...Object.entries(pages).map(([path, { file, maxKilobytes }]) => ({
      name: path,
      bytes: path === "/" ? sum(initial) : added(entryOf(file)),
      max: maxKilobytes * kB,
    })),
  ];
};

/** Pages that have a row or a module, but not both. Home is part of the shell. */
const unpairedPages = (manifest: Manifest): readonly string[] => {
  const rows = new Set(Object.entries(pages).flatMap(([path, { file }]) => (path === "/" ? [] : [entryOf(file)])));
  const modules = new Set(Object.keys(manifest).filter((key) => /^src\/pages\/.*-page\.tsx$/.test(key)));
  return [...rows.symmetricDifference(modules)];
};

const buildInto = async (folder: string): Promise<readonly Weight[]> => {
  // Loaded by a start that builds, and by no other.
  const { build } = await import("vite");
  await build({ configFile: join(root, "web", "vite.config.ts"), configLoader: "native", logLevel: "warn", build: { outDir: folder } });
  const manifest = JSON.parse(await readFile(join(folder, ".vite", "manifest.json"), "utf8")) as Manifest;
  const unpaired = unpairedPages(manifest);
  if (unpaired.length > 0)
    throw new Error(`Each page needs a module in web/src/pages/ and a row in src/contract/screens.ts: ${unpaired.join(", ")}.`);
  const weights = weigh(manifest, await compress(folder));
  const over = weights.filter((weight) => weight.bytes > weight.max);
  if (over.length > 0)
    throw new Error(`Too large after gzip: ${over.map((weight) => `${weight.name} ${weight.bytes} of ${weight.max} bytes`).join(", ")}.`);
  return weights;
};

const replaceDist = async (fresh: string): Promise<void> => {
  const old = join(cacheFolder, `web-old-${process.pid}`);
  await rm(old, { recursive: true, force: true });
  if (existsSync(distFolder)) await rename(distFolder, old);
  await rename(fresh, distFolder);
  await rm(old, { recursive: true, force: true });
};

export interface WebBuild {
  /** Where index.html and assets/ lie. */
  readonly folder: string;
  readonly wasBuilt: boolean;
  /** Gzip sizes with their budgets; empty when nothing had to be built. */
  readonly weights: readonly Weight[];
}

/**
 * Makes web/dist fit the sources: seconds when something changed, milliseconds when not. Throws when the build fails or
 * passes a budget; web/dist is then gone rather than old.
 */
export const buildWebIfNeeded = async (options: { readonly log?: BuildLog; readonly force?: boolean } = {}): Promise<WebBuild> => {
  const digest = await digestOfSources();
  if (options.force !== true && (await isBuilt(digest))) return { folder: distFolder, wasBuilt: false, weights: [] };
  await using _lock = await takeLock();
  if (options.force !== true && (await isBuilt(digest))) return { folder: distFolder, wasBuilt: false, weights: [] };
  options.log?.info("web_build_started", { folder: relative(root, distFolder) });
  const started = performance.now();
  const fresh = join(root, "web", `dist.${process.pid}`);
  try {
    const weights = await buildInto(fresh);
    await writeFile(join(fresh, basename(markerFile)), digest);
    await replaceDist(fresh);
    options.log?.info("web_build_finished", { seconds: Math.round(performance.now() - started) / 1000 });
    return { folder: distFolder, wasBuilt: true, weights };
  } catch (error) {
    await rm(distFolder, { recursive: true, force: true });
    throw error;
  } finally {
    await rm(fresh, { recursive: true, force: true });
  }
};

const print = (text: string): void => void process.stdout.write(`${text}\n`);

if (import.meta.main) {
  const { values } = requireOptions(
    `npm run build:web [-- --force]

Builds the web client into web/dist if it changed.
  --force    also if it did not
`,
    { force: { type: "boolean" } },
  );
  const result = await buildWebIfNeeded({ force: values["force"] === true });
  print(result.wasBuilt ? "Built web/dist." : "web/dist is up to date.");
  for (const weight of result.weights)
    print(`  ${weight.name.padEnd(30)} ${(weight.bytes / kB).toFixed(1).padStart(7)} kB gzip, at most ${(weight.max / kB).toFixed(0)}`);
}
