import { Problem } from "#contract/problem.ts";
import type { Sealer } from "#authn/seal.ts";

/** Where a search goes on. */
export interface SearchPosition {
  /** The last id that was looked at. */
  readonly after: string;
  readonly limit: number;
}

/** Positions of searches: sealed, for one caller and one question, for ten minutes. */
export interface PageTokens {
  seal(position: SearchPosition, bound: string): string;
  /** Throws `invalid_page_token`. */
  open(token: string, bound: string): SearchPosition;
}

const LIFE_MS = 600_000;

export const createPageTokens = (sealer: Sealer, now: () => Date): PageTokens => ({
  seal: ({ after, limit }, bound) =>
    Buffer.from(sealer.seal(JSON.stringify([after, limit, now().getTime() + LIFE_MS]), bound)).toString("base64url"),
  open: (token, bound) => {
    // Only the spelling that was given out: base64url has others for the same bytes.
    const bytes = Buffer.from(token, "base64url");
    const text = bytes.toString("base64url") === token ? sealer.open(new Uint8Array(bytes), bound) : undefined;
    const [after, limit, until] = (text === undefined ? [] : JSON.parse(text)) as readonly [string?, number?, number?];
    if (after === undefined || limit === undefined || until === undefined || until < now().getTime())
      throw new Problem("invalid_page_token");
    return { after, limit };
  },
});
