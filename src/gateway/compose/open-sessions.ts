import type { PublicOrigins } from "#gateway/model/public-origins.ts";
import type { GatewayParts } from "#gateway/model/gateway-parts.ts";
import { createCachedSessionStore } from "#gateway/sessions/cached-session-store.ts";
import { createDatabaseSessionStore } from "#gateway/sessions/database-session-store.ts";
import { createRedisSessionStore } from "#gateway/sessions/redis-session-store.ts";
import { createRevocations, type Revocations } from "#gateway/sessions/revocations.ts";
import { createSessionCookies, type SessionCookies } from "#gateway/sessions/session-cookies.ts";
import { createSessionKeys, type SessionKeys } from "#gateway/sessions/session-keys.ts";
import { createSessionRecords, type SessionRecords } from "#gateway/sessions/session-records.ts";
import type { SessionChange, SessionStore } from "#gateway/sessions/session-store.ts";
import { createSessions, type Sessions } from "#gateway/sessions/sessions.ts";
import { StartIssues } from "#contract/start-issues.ts";

export interface OpenedSessions {
  readonly keys: SessionKeys;
  readonly cookies: SessionCookies;
  readonly records: SessionRecords;
  readonly revocations: Revocations;
  readonly sessions: Sessions;
  /** Without the hot cache: for what must ask the store itself. */
  readonly store: SessionStore;
  /** Whether changes made by other processes are heard now. */
  readonly hearsChanges: () => boolean;
  [Symbol.asyncDispose](): Promise<void>;
}

const openStore = (parts: GatewayParts): SessionStore => {
  if (parts.config.sessionStore === "database") return createDatabaseSessionStore(parts.database);
  if (parts.redis === undefined) throw new StartIssues([{ path: "REDIS_URL", message: "must be set with SESSION_STORE=redis" }]);
  return createRedisSessionStore(parts.redis);
};

/**
 * Sessions behind their hot cache. `changed` hears of every end, here and elsewhere; `regained` when some may have been
 * missed before now.
 */
export const openSessions = async (
  parts: GatewayParts,
  origins: PublicOrigins,
  changed: (change: SessionChange) => void,
  regained: () => void,
): Promise<OpenedSessions> => {
  const { config } = parts;
  const keys = createSessionKeys(parts.secrets);
  const records = createSessionRecords(parts);
  const store = openStore(parts);
  const revocations = createRevocations({ ...parts, store, keys });
  const cached = await createCachedSessionStore(store, parts.now);
  const feed = await cached.changes(changed, regained);
  const sessions = createSessions({
    ...parts,
    store: cached,
    uncached: store,
    keys,
    records,
    revocations,
    limits: {
      idleSeconds: config.sessionIdleSeconds,
      absoluteSeconds: config.sessionAbsoluteSeconds,
      refreshAheadSeconds: config.refreshAheadSeconds,
      bindNetwork: config.sessionBindingNetwork === "on",
    },
  });
  return {
    keys,
    cookies: createSessionCookies(origins),
    records,
    revocations,
    sessions,
    store,
    hearsChanges: () => feed.isConnected(),
    [Symbol.asyncDispose]: async () => {
      await feed.stop();
      await cached.stop();
    },
  };
};
