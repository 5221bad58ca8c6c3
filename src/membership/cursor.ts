import { createSealer, type HouseSecrets } from "#authn/seal.ts";
import { Problem } from "#contract/problem.ts";

/** Where a list goes on. Sealed, so nobody can read or make one; bound to the list, its filters and its reader; good for 10 minutes. */
export interface Cursors {
  seal(binding: readonly unknown[], after: string): string;
  /** Throws `invalid_cursor`. */
  open(binding: readonly unknown[], cursor: string): string;
}

const LIFE_MS = 600_000;

export const createCursors = (parts: { readonly secrets: HouseSecrets; readonly now: () => Date }): Cursors => {
  const sealer = createSealer(parts.secrets, "membership.cursor");
  return {
    seal: (binding, after) =>
      Buffer.from(sealer.seal(JSON.stringify([parts.now().getTime() + LIFE_MS, after]), JSON.stringify(binding))).toString("base64url"),
    open: (binding, cursor) => {
      const text = sealer.open(Buffer.from(cursor, "base64url"), JSON.stringify(binding));
      const [ends, after] = text === undefined ? [] : (JSON.parse(text) as [number, string]);
      if (ends === undefined || after === undefined || ends < parts.now().getTime()) throw new Problem("invalid_cursor");
      return after;
    },
  };
};
