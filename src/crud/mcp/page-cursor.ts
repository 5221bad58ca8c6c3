import { Problem } from "#contract/problem.ts";
import type { Sealer } from "#authn/seal.ts";

/** Where a list goes on: after this name, for this principal, in this view, and not for long. */
export interface CursorPlace {
  readonly view: string;
  readonly principal: string;
  readonly after: string;
}

const LIFE_MS = 15 * 60_000;
const PURPOSE = "mcp.tools.list";

const invalid = (): Problem => new Problem("invalid_cursor");

/** Cursors are AES-256-GCM: nobody reads or makes one, and one of another principal or view does not open. */
export const createPageCursor = (parts: { readonly sealer: Sealer; readonly now: () => Date }) => ({
  seal: (place: CursorPlace, revision: string): string =>
    Buffer.from(
      parts.sealer.seal(
        JSON.stringify({ r: revision.slice(0, 16), a: place.after, t: parts.now().getTime() }),
        `${PURPOSE} ${place.view} ${place.principal}`,
      ),
    ).toString("base64url"),
  /** The name to go on after. Throws `invalid_cursor` for a tampered, foreign or old one. */
  open: (cursor: string, place: Omit<CursorPlace, "after">): string => {
    if (!/^[A-Za-z0-9_-]{1,1024}$/.test(cursor)) throw invalid();
    const text = parts.sealer.open(Buffer.from(cursor, "base64url"), `${PURPOSE} ${place.view} ${place.principal}`);
    if (text === undefined) throw invalid();
    const held = JSON.parse(text) as { readonly a: string; readonly t: number };
    if (parts.now().getTime() - held.t > LIFE_MS) throw invalid();
    return held.a;
  },
});

export type PageCursor = ReturnType<typeof createPageCursor>;
