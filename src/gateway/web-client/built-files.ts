import { createHash } from "node:crypto";
import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";

/** One file of the built client, with what the build compressed of it. */
export interface BuiltFile {
  readonly type: string;
  readonly etag: string;
  readonly plain: Uint8Array<ArrayBuffer>;
  readonly br: Uint8Array<ArrayBuffer> | undefined;
  readonly gzip: Uint8Array<ArrayBuffer> | undefined;
}

export interface BuiltFiles {
  /** The page, with its placeholders for the nonce; `undefined` when there is no build. */
  index(): Promise<string | undefined>;
  asset(name: string): Promise<BuiltFile | undefined>;
}

const types: Readonly<Record<string, string>> = {
  js: "text/javascript; charset=utf-8",
  css: "text/css; charset=utf-8",
  svg: "image/svg+xml",
  png: "image/png",
  ico: "image/x-icon",
  webp: "image/webp",
  woff2: "font/woff2",
  json: "application/json",
  map: "application/json",
  txt: "text/plain; charset=utf-8",
};

interface Build {
  readonly builtAt: number;
  readonly index: string;
  readonly names: ReadonlySet<string>;
  readonly files: Map<string, Promise<BuiltFile>>;
}

const bytes = async (file: string): Promise<Uint8Array<ArrayBuffer>> => new Uint8Array(await readFile(file));

/**
 * The built client in a folder, kept in memory and read anew when its page changes. Only names that the folder lists are
 * served: a request never makes a path of the file system.
 */
export const createBuiltFiles = (folder: string): BuiltFiles => {
  let build: Build | undefined;

  const current = async (): Promise<Build | undefined> => {
    const page = join(folder, "index.html");
    const found = await stat(page).catch(() => undefined);
    if (found === undefined) return undefined;
    if (build?.builtAt === found.mtimeMs) return build;
    const [index, names] = await Promise.all([readFile(page, "utf8"), readdir(join(folder, "assets")).catch(() => [])]);
    build = { builtAt: found.mtimeMs, index, names: new Set(names), files: new Map() };
    return build;
  };

  const read = async (name: string, names: ReadonlySet<string>): Promise<BuiltFile> => {
    const path = join(folder, "assets", name);
    const packed = (suffix: string) => (names.has(`${name}.${suffix}`) ? bytes(`${path}.${suffix}`) : undefined);
    const [plain, br, gzip] = await Promise.all([bytes(path), packed("br"), packed("gz")]);
    return {
      type: types[name.slice(name.lastIndexOf(".") + 1)] ?? "application/octet-stream",
      etag: createHash("sha256").update(plain).digest("hex").slice(0, 32),
      plain,
      br,
      gzip,
    };
  };

  return {
    index: async () => (await current())?.index,
    asset: async (name) => {
      const now = await current();
      if (now === undefined || !now.names.has(name)) return undefined;
      const held = now.files.get(name) ?? read(name, now.names);
      now.files.set(name, held);
      held.catch(() => now.files.delete(name));
      return held;
    },
  };
};
