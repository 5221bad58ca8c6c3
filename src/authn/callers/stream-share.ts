import { Problem } from "#contract/problem.ts";
import type { Caller } from "#authn/model/caller.ts";

/** More than anybody looks at in all windows together; each open stream is asked about again and again. */
const MAX_STREAMS = 16;

/** Places for the event streams of one process. */
export interface StreamShare {
  /** A place for one more; given back by what it returns, again does nothing. Throws `too_many_streams` (429). */
  claim(caller: Pick<Caller, "tenant" | "sub" | "agent">): () => void;
}

/** So that nobody takes the places of all: so many streams a principal, by whichever sessions and tokens. */
export const createStreamShare = (max = MAX_STREAMS): StreamShare => {
  const open = new Map<string, number>();
  return {
    claim: ({ tenant, sub, agent = "" }) => {
      const principal = JSON.stringify([tenant, sub, agent]);
      const held = open.get(principal) ?? 0;
      if (held >= max)
        throw new Problem("too_many_streams", {
          detail: `${max} streams are open. Close one before you open another.`,
          headers: { "retry-after": "5" },
        });
      open.set(principal, held + 1);
      let isHeld = true;
      return () => {
        if (!isHeld) return;
        isHeld = false;
        const left = (open.get(principal) ?? 1) - 1;
        if (left === 0) open.delete(principal);
        else open.set(principal, left);
      };
    },
  };
};
