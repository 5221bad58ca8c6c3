import { Problem } from "#contract/problem.ts";
import { createWorkThread } from "#parsing/work-thread.ts";
import { alterText, errorOf, pack, unpack, wishWith, type VaultDone, type VaultRefusal, type VaultWish } from "./vault-alter.ts";
import { VaultFileError } from "./vault-file-error.ts";

export interface ThreadQuestion {
  readonly text: string;
  readonly wish: VaultWish;
}
export type ThreadAnswer = { readonly done: VaultDone } | { readonly refused: VaultRefusal };

/** Throws as `alterText` does, `VaultFileError` too for a text that takes too long or too much; `busy` when the thread died. */
export type AlterVault = (text: string, wish: VaultWish) => Promise<VaultDone>;

/** A text of so many characters is read within some ten milliseconds; a larger one would hold the event loop for longer than anybody may. */
const SMALL = 16_384;
/** A file of 1 MiB takes seconds and, where it holds little but brackets, 400 MiB. */
const LIMITS = { maxMs: 30_000, heapMebibytes: 512 };

/** Small texts here, large ones in a thread. */
export const createAlterVault = ({ maxMs, heapMebibytes } = LIMITS): AlterVault => {
  const thread = createWorkThread<ThreadQuestion, ThreadAnswer>({
    module: new URL("./vault-thread.ts", import.meta.url),
    name: "secrets-file",
    maxMs: maxMs,
    heapMebibytes,
    ended: (cause, why) => {
      if (why === "late") return new VaultFileError(`takes longer than ${maxMs / 1000} s to be read`, { cause });
      if (why === "memory") return new VaultFileError(`needs more than ${heapMebibytes} MiB of memory to be read`, { cause });
      return new Problem("busy", { detail: "The secrets file could not be read now.", cause });
    },
  });
  return async (text, wish) => {
    if (text.length <= SMALL) return alterText(text, wish);
    const answer = await thread.ask({ text, wish: wishWith(wish, pack) });
    if ("refused" in answer) throw errorOf(answer.refused);
    return { ...answer.done, root: unpack(answer.done.root) };
  };
};
