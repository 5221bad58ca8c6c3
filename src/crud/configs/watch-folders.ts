import { watch, type FSWatcher } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { startInterval, type Interval } from "#http/interval.ts";
import { configObjectKinds } from "#contract/configs.ts";
import { folderOf } from "./config-kind.ts";
import { isStaged } from "./own-folder.ts";

export interface FolderWatchParts {
  readonly folders: readonly string[];
  /** Looks at what lies there; asked for by a hint, which may be wrong. */
  readonly look: () => Promise<unknown>;
  readonly failed: (cause: unknown) => void;
}

/** An editor that writes in steps is through by then, milliseconds; who writes on and on is looked at in between. */
const QUIET_MS = 100;
const MAX_WAITED_MS = 1_000;
/** Where the system tells nothing. */
const POLL_MS = 5_000;

/** Looks when the system says that something in the configuration folders changed; nothing is read while nothing happens. */
export const watchFolders = async ({ folders, look, failed }: FolderWatchParts): Promise<AsyncDisposable> => {
  let watchers: FSWatcher[] = [];
  let loop: Interval | undefined;
  let timer: NodeJS.Timeout | undefined;
  let since: number | undefined;
  let isEnded = false;
  let running: Promise<void> = Promise.resolve();

  const poll = (cause: unknown): void => {
    if (loop !== undefined || isEnded) return;
    failed(cause);
    loop = startInterval({ everyMs: POLL_MS, work: look, failed });
  };
  const hint = (_kind: string, name: string | null): void => {
    if (isEnded || (name !== null && isStaged(name))) return;
    since ??= performance.now();
    clearTimeout(timer);
    timer = setTimeout(
      () => void (running = running.then(round)),
      Math.max(0, Math.min(QUIET_MS, since + MAX_WAITED_MS - performance.now())),
    );
    timer.unref();
  };
  /** Each folder that may hold a file: those of kinds, too, which may have come or gone. */
  const arm = async (): Promise<void> => {
    const before = watchers;
    watchers = [];
    const ofKinds = configObjectKinds.flatMap((kind) => folderOf(kind) ?? []);
    for (const folder of folders) {
      const found = [folder];
      for (const kind of ofKinds.map((one) => join(folder, one))) {
        const below = await readdir(kind, { recursive: true, withFileTypes: true }).catch(() => undefined);
        const inner = (below ?? []).filter((entry) => entry.isDirectory()).map((entry) => join(entry.parentPath, entry.name));
        found.push(...(below === undefined ? [] : [kind, ...inner]));
      }
      for (const one of found)
        try {
          watchers.push(watch(one, { persistent: false }, hint).on("error", poll));
        } catch (cause) {
          if ((cause as NodeJS.ErrnoException).code !== "ENOENT") poll(cause);
        }
    }
    for (const one of before) one.close();
  };
  const round = async (): Promise<void> => {
    since = undefined;
    if (isEnded) return;
    try {
      await arm();
      await look();
    } catch (cause) {
      failed(cause);
    }
  };
  await arm();
  return {
    [Symbol.asyncDispose]: async () => {
      isEnded = true;
      clearTimeout(timer);
      await running;
      for (const one of watchers) one.close();
      await loop?.[Symbol.asyncDispose]();
    },
  };
};
