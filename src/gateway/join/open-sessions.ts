import type { PublicOrigins } from "#gateway/front-door/public-origins.ts";
import type { GatewayParts } from "#gateway/service.ts";
import { createCachedSessionStore } from "#gateway/sessions/cached-session-store.ts";
import { createDatabaseSessionStore } from "#gateway/sessions/database-session-store.ts";
import { createRevocations, type Revocations } from "#gateway/sessions/revocations.ts";
import { createSessionCookies, type SessionCookies } from "#gateway/sessions/session-cookies.ts";
import { createSessionKeys, type SessionKeys } from "#gateway/sessions/session-keys.ts";
import { createSessionRecords, type SessionRecords } from "#gateway/sessions/session-records.ts";
import type { SessionChange, SessionStore } from "#gateway/sessions/session-store.ts";
import { createSessions, type Sessions } from "#gateway/sessions/sessions.ts";

export interface OpenedSessions {
  readonly keys: SessionKeys;
  readonly cookies: SessionCookies;
  readonly records: SessionRecords;
  readonly revocations: Revocations;
  readonly sessions: Sessions;
  /** Without the hot cache: for what must ask the store itself. */
  readonly store: SessionStore;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Sessions on the house's database behind their hot cache; `changed` hears of every end, here and elsewhere. */
export const openSessions = async (
  parts: GatewayParts,
  origins: PublicOrigins,
  changed: (change: SessionChange) => void,
): Promise<OpenedSessions> => {
  const { config } = parts;
  const keys = createSessionKeys(parts.secrets);
  const records = createSessionRecords(parts);
  const revocations = createRevocations({ ...parts, keys });
  const store = createDatabaseSessionStore(parts.database);
  const cached = await createCachedSessionStore(store, parts.now);
  const feed = await cached.changes(changed);
  const sessions = createSessions({
    ...parts,
    store: cached,
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
    [Symbol.asyncDispose]: async () => {
      await feed.stop();
      await cached.stop();
    },
  };
};
