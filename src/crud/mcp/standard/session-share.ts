import { Problem } from "#contract/problem.ts";

/** What a principal holds in this process: a session, or a subscription. */
export interface HeldPlace {
  readonly principal: string;
  /** Milliseconds since 1970 of its last request. */
  lastUsed: number;
  /** Streams that are open: what has one is not idle. */
  streams: number;
  /** Given back; again does nothing. */
  release(): void;
}

/** A client that came back may take the place of what it left behind after this. */
const LEFT_BEHIND_MS = 60_000;

type Kept = HeldPlace & { readonly end: () => void };

const isLess = (one: Kept, other: Kept): boolean =>
  one.streams > 0 === other.streams > 0 ? one.lastUsed < other.lastUsed : one.streams === 0;

/** Sessions and subscriptions of one principal together, so that nobody takes the places of all. */
export const createSessionShare = (parts: { readonly max: number; readonly now: () => Date }) => {
  const principals = new Map<string, Set<Kept>>();

  const evictOldest = (held: ReadonlySet<Kept>): void => {
    if (held.size < parts.max) return;
    const least = [...held].reduce((found, next) => (isLess(next, found) ? next : found));
    const left = least.streams === 0 ? 0 : least.lastUsed + LEFT_BEHIND_MS - parts.now().getTime();
    if (left > 0)
      throw new Problem("too_many_sessions", {
        detail: `${parts.max} sessions and subscriptions are in use. End one (DELETE with its Mcp-Session-Id), or use one for several requests.`,
        headers: { "retry-after": String(Math.ceil(left / 1000)) },
      });
    least.release();
    least.end();
  };

  return {
    /**
     * A place for one more. Where the principal has none left, its longest unused one is ended: one without a stream at once, one
     * with a stream when nothing came from its client for a minute, because a client that lost its connection is not yet known to be
     * gone. Throws `too_many_sessions` (429) when all are in use.
     */
    claim: (principal: string, end: () => void): HeldPlace => {
      const held = principals.get(principal) ?? new Set<Kept>();
      evictOldest(held);
      const place: Kept = {
        principal,
        lastUsed: parts.now().getTime(),
        streams: 0,
        end,
        release: () => {
          held.delete(place);
          if (held.size === 0 && principals.get(principal) === held) principals.delete(principal);
        },
      };
      // What made room may have been the last of them.
      principals.set(principal, held.add(place));
      return place;
    },
  };
};
export type SessionShare = ReturnType<typeof createSessionShare>;
