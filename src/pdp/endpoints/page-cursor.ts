import { Problem } from "#contract/problem.ts";
import type { Sealer } from "#authn/seal.ts";

export interface PagePosition {
  readonly callId: string;
  readonly index: number;
}

/** Opaque positions in a list: sealed, for one caller and one set of filters, for ten minutes. */
export interface PageCursors {
  seal(position: PagePosition, bound: string): string;
  /** Throws `invalid_cursor`. */
  open(cursor: string, bound: string): PagePosition;
}

const LIFE_MS = 600_000;

export const createPageCursors = (sealer: Sealer, now: () => Date): PageCursors => ({
  seal: (position, bound) =>
    Buffer.from(sealer.seal(JSON.stringify([position.callId, position.index, now().getTime() + LIFE_MS]), bound)).toString("base64url"),
  open: (cursor, bound) => {
    const text = sealer.open(new Uint8Array(Buffer.from(cursor, "base64url")), bound);
    const [callId, index, until] = (text === undefined ? [] : JSON.parse(text)) as readonly [string?, number?, number?];
    if (callId === undefined || index === undefined || until === undefined || until < now().getTime()) throw new Problem("invalid_cursor");
    return { callId, index };
  },
});
