import { Worker } from "node:worker_threads";
import { Problem } from "#contract/problem.ts";
import { alterText, errorOf, pack, unpack, wishWith, type VaultDone, type VaultRefusal, type VaultWish } from "./vault-alter.ts";

export interface ThreadQuestion {
  readonly id: number;
  readonly text: string;
  readonly wish: VaultWish;
}
export type ThreadAnswer = { readonly id: number } & ({ readonly done: VaultDone } | { readonly refused: VaultRefusal });

/** Throws as `alterText` does; `busy` when the thread ended before it answered. */
export type AlterVault = (text: string, wish: VaultWish) => Promise<VaultDone>;

/** A text of so many characters is read within some ten milliseconds; a larger one would hold the event loop for longer than anybody may. */
const SMALL = 16_384;
const IDLE_MS = 30_000;

/** Small texts here, large ones in a thread that is started when it is needed and ends when it was idle for a while. */
export const createAlterVault = (): AlterVault => {
  const asked = new Map<number, { resolve(done: VaultDone): void; reject(error: Error): void }>();
  let thread: Worker | undefined;
  let idle: NodeJS.Timeout | undefined;
  let last = 0;

  const rest = (): void => {
    if (asked.size > 0) return;
    thread?.unref();
    idle = setTimeout(() => {
      const gone = thread;
      thread = undefined;
      void gone?.terminate();
    }, IDLE_MS).unref();
  };
  const begin = (): Worker => {
    const made = new Worker(new URL("./vault-thread.ts", import.meta.url), { name: "secrets-file", execArgv: [] });
    let cause: unknown;
    made.on("message", (answer: ThreadAnswer) => {
      const waiting = asked.get(answer.id);
      asked.delete(answer.id);
      if ("done" in answer) waiting?.resolve({ ...answer.done, root: unpack(answer.done.root) });
      else waiting?.reject(errorOf(answer.refused));
      rest();
    });
    made.on("error", (error) => void (cause = error));
    made.on("exit", () => {
      if (made !== thread) return;
      thread = undefined;
      for (const { reject } of asked.values()) reject(new Problem("busy", { detail: "The secrets file could not be read now.", cause }));
      asked.clear();
    });
    return made;
  };

  return async (text, wish) => {
    if (text.length <= SMALL) return alterText(text, wish);
    clearTimeout(idle);
    thread ??= begin();
    thread.ref();
    const id = ++last;
    const answered = new Promise<VaultDone>((resolve, reject) => asked.set(id, { resolve, reject }));
    thread.postMessage({ id, text, wish: wishWith(wish, pack) } satisfies ThreadQuestion);
    return answered;
  };
};
