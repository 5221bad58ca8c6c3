import { LRUCache } from "lru-cache";
import type { ProviderTokens } from "#authn/provider/oidc-client.ts";

export interface TokenOrder {
  /** Everything that makes two tokens different, in one order. */
  readonly key: readonly string[];
  readonly service: string;
  /** The session that it falls with. */
  readonly sessionRef: string | undefined;
  readonly ttlSeconds: number | undefined;
}

export interface TokenCache {
  /** The kept token, or the one being fetched, or what `fetch` brings. */
  get(order: TokenOrder, fetch: () => Promise<ProviderTokens>): Promise<string>;
  /** The session is over: nothing of it is kept, nor what is still under way for it. */
  forget(sessionRef: string): void;
}

interface Kept {
  readonly token: string;
  readonly until: number;
  readonly sessionRef: string | undefined;
}

const MAX_KEPT = 10_000;
/** A token on its way to an upstream must still be good when it gets there. */
const EARLY_MS = 30_000;

/** Tokens for upstreams: 10,000 at most, what was not asked for longest goes first; whoever asks for one being fetched waits for that. */
export const createTokenCache = (parts: {
  readonly now: () => Date;
  /** A kept token was asked for and is no longer good. */
  readonly onExpired: (service: string) => void;
}): TokenCache => {
  const keysOf = new Map<string, Set<string>>();
  const kept = new LRUCache<string, Kept>({
    max: MAX_KEPT,
    dispose: ({ sessionRef = "" }, key) => {
      const keys = keysOf.get(sessionRef);
      keys?.delete(key);
      if (keys?.size === 0) keysOf.delete(sessionRef);
    },
  });
  const flights = new Map<string, { readonly token: Promise<string>; readonly sessionRef: string | undefined; isForgotten: boolean }>();

  const keep = (key: string, order: TokenOrder, tokens: ProviderTokens): void => {
    const now = parts.now().getTime();
    const life = order.ttlSeconds === undefined ? Number.POSITIVE_INFINITY : now + order.ttlSeconds * 1000;
    const until = Math.min(tokens.accessExpiresAt * 1000 - EARLY_MS, life);
    if (until <= now) return;
    kept.set(key, { token: tokens.accessToken, until, sessionRef: order.sessionRef });
    if (order.sessionRef !== undefined) {
      const keys = keysOf.get(order.sessionRef) ?? new Set<string>();
      keysOf.set(order.sessionRef, keys.add(key));
    }
  };

  return {
    get: async (order, fetch) => {
      const key = JSON.stringify(order.key);
      const held = kept.get(key);
      if (held !== undefined && held.until > parts.now().getTime()) return held.token;
      const under = flights.get(key);
      if (under !== undefined) return under.token;
      if (held !== undefined) {
        kept.delete(key);
        parts.onExpired(order.service);
      }
      const bring = async (): Promise<string> => {
        try {
          const tokens = await fetch();
          if (!flight.isForgotten) keep(key, order, tokens);
          return tokens.accessToken;
        } finally {
          if (flights.get(key) === flight) flights.delete(key);
        }
      };
      const { promise, resolve } = Promise.withResolvers<string>();
      const flight = { token: promise, sessionRef: order.sessionRef, isForgotten: false };
      flights.set(key, flight);
      resolve(bring());
      return promise;
    },
    forget: (sessionRef) => {
      for (const key of keysOf.get(sessionRef) ?? []) kept.delete(key);
      for (const flight of flights.values()) if (flight.sessionRef === sessionRef) flight.isForgotten = true;
    },
  };
};
