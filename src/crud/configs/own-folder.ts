import { randomBytes } from "node:crypto";
import { constants } from "node:fs";
import { mkdir, open, readdir, realpath, rename, stat, unlink } from "node:fs/promises";
import { basename, dirname, join, posix, sep } from "node:path";
import { Problem } from "#contract/problem.ts";
import { configObjectKinds } from "#contract/configs.ts";
import type { References } from "#crud/systems/load-systems.ts";
import { documentText } from "#crud/documents/read-folder.ts";
import { folderOf } from "./config-kind.ts";

/** An object as it is to lie in the folder; `text` null: not at all. */
export interface FolderChange {
  /** Below the folder; what it refers to lies beside it. */
  readonly file: string;
  readonly text: string | null;
  readonly refs: References;
}

/** Files that lie ready beside the ones that they replace. */
export interface Staged {
  /** Each file is the old one or the new one, whole, whenever the process is killed. */
  place(): Promise<void>;
  discard(): Promise<void>;
}

/** The first configuration folder, which is Sallyport's own: API writes go to it where the folders are the truth. */
export interface OwnFolder {
  read(file: string): Promise<string | undefined>;
  /** Throws `managed_elsewhere` for what cannot be written here, or lies in a further folder. */
  stage(changes: readonly FolderChange[]): Promise<Staged>;
  /** Removes what a killed process left ready and did not place. */
  sweep(): Promise<void>;
}

const LEFTOVER = /^\..+\.[0-9a-f]{16}\.tmp$/;
/** Whether a name is of a file that only lies ready. */
export const isStaged = (name: string): boolean => LEFTOVER.test(basename(name));

const ifThere = async <T>(work: Promise<T>): Promise<T | undefined> =>
  work.catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT" || error.code === "ENOTDIR") return undefined;
    throw error;
  });
const syncFolder = async (folder: string): Promise<void> => {
  const handle = await open(folder, constants.O_RDONLY).catch(() => undefined);
  // Some systems cannot sync a folder; there the rename itself is all there is.
  await handle?.sync().catch(() => undefined);
  await handle?.close();
};
const elsewhere = (detail: string): Problem => new Problem("managed_elsewhere", { detail });
const READ_ONLY: ReadonlySet<string | undefined> = new Set(["EACCES", "EPERM", "EROFS"]);

export const createOwnFolder = (folders: readonly string[]): OwnFolder => {
  const [own = "", ...further] = folders;
  const read = (file: string): Promise<string | undefined> => documentText(join(own, file));

  const requireOwn = async ({ file }: FolderChange): Promise<void> => {
    if (!file.includes("/") || (await read(file)) !== undefined) return;
    for (const folder of further)
      if ((await ifThere(stat(join(folder, file)))) !== undefined)
        throw elsewhere(
          `CONFIG_MODE is files, and ${join(folder, file)} lies in a further folder, which only adds to ${own}: change it there.`,
        );
  };

  /** A new file beside its target, on the disk. */
  const prepare = async (file: string, text: string): Promise<{ readonly temporary: string; readonly target: string }> => {
    const target = join(own, file);
    const there = await ifThere(stat(target));
    if (there?.isDirectory() === true) throw elsewhere(`${target} is a folder: take it away, or name the object otherwise.`);
    await mkdir(dirname(target), { recursive: true });
    const [root, parent] = [await realpath(own), await realpath(dirname(target))];
    if (parent !== root && !parent.startsWith(root + sep)) throw elsewhere(`${target} leads out of the configuration folder by a link.`);
    const temporary = join(dirname(target), `.${basename(target)}.${randomBytes(8).toString("hex")}.tmp`);
    const handle = await open(temporary, "wx", (there?.mode ?? 0o644) & 0o777);
    try {
      await handle.writeFile(text, "utf8");
      await handle.sync();
    } catch (error) {
      await unlink(temporary).catch(() => undefined);
      throw error;
    } finally {
      await handle.close();
    }
    return { temporary, target };
  };

  return {
    read,
    stage: async (changes) => {
      // What a document refers to comes before it, so that it is never read without.
      const files = new Map<string, string>();
      const gone = new Set<string>();
      for (const change of changes) {
        await requireOwn(change);
        for (const [path, text] of Object.entries(change.refs)) files.set(posix.join(posix.dirname(change.file), path), text);
      }
      for (const { file, text } of changes)
        if (text === null) gone.add(file);
        else files.set(file, text);
      const ready: { readonly temporary: string; readonly target: string }[] = [];
      const discard = async (): Promise<void> => {
        for (const { temporary } of ready) await unlink(temporary).catch(() => undefined);
      };
      try {
        for (const [file, text] of files) if ((await read(file)) !== text) ready.push(await prepare(file, text));
        // Taking a file away needs what writing one needs; that it fails is to be known before the change is made.
        for (const file of gone) if ((await read(file)) !== undefined) await unlink((await prepare(file, "")).temporary);
      } catch (error) {
        await discard();
        const { code, path } = error as NodeJS.ErrnoException;
        if (READ_ONLY.has(code))
          throw elsewhere(
            `CONFIG_MODE is files, and ${path === undefined ? own : dirname(path)} cannot be written (${code}): change the file where the folder comes from.`,
          );
        throw error;
      }
      return {
        discard,
        place: async () => {
          for (const { temporary, target } of ready) await rename(temporary, target);
          for (const file of gone) await ifThere(unlink(join(own, file)));
          const paths = [...ready.map(({ target }) => target), ...[...gone].map((file) => join(own, file))];
          for (const folder of new Set(paths.map((path) => dirname(path)))) await syncFolder(folder);
        },
      };
    },
    sweep: async () => {
      for (const folder of new Set([own, ...configObjectKinds.map((kind) => join(own, folderOf(kind) ?? ""))]))
        for (const entry of (await ifThere(readdir(folder, { recursive: folder !== own, withFileTypes: true }))) ?? [])
          if (entry.isFile() && isStaged(entry.name)) await unlink(join(entry.parentPath, entry.name)).catch(() => undefined);
    },
  };
};
