import { Problem } from "#contract/problem.ts";
import { createWorkThread } from "#documents/work-thread.ts";
import { alterText, errorOf, pack, unpack, wishWith, type VaultDone, type VaultRefusal, type VaultWish } from "./vault-alter.ts";

export interface ThreadQuestion {
  readonly text: string;
  readonly wish: VaultWish;
}
export type ThreadAnswer = { readonly done: VaultDone } | { readonly refused: VaultRefusal };

/** Throws as `alterText` does; `busy` when the thread ended before it answered. */
export type AlterVault = (text: string, wish: VaultWish) => Promise<VaultDone>;

/** A text of so many characters is read within some ten milliseconds; a larger one would hold the event loop for longer than anybody may. */
const SMALL = 16_384;

/** Small texts here, large ones in a thread. */
export const createAlterVault = (): AlterVault => {
  const thread = createWorkThread<ThreadQuestion, ThreadAnswer>({
    module: new URL("./vault-thread.ts", import.meta.url),
    name: "secrets-file",
    ended: (cause) => new Problem("busy", { detail: "The secrets file could not be read now.", cause }),
  });
  return async (text, wish) => {
    if (text.length <= SMALL) return alterText(text, wish);
    const answer = await thread.ask({ text, wish: wishWith(wish, pack) });
    if ("refused" in answer) throw errorOf(answer.refused);
    return { ...answer.done, root: unpack(answer.done.root) };
  };
};
