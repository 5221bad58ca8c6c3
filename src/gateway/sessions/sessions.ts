import { randomUUID } from "node:crypto";
import type { OidcClient, SignedIn } from "#authn/provider/oidc-client.ts";
import { Problem } from "#contract/problem.ts";
import { createTtlCache } from "#http/ttl-cache.ts";
import type { GatewayParts } from "#gateway/model/gateway-parts.ts";
import { clientName } from "./client-name.ts";
import { createLivingGauge } from "./living-gauge.ts";
import { hashSid, isSid, makeSid } from "./session-id.ts";
import type { SessionKeys } from "./session-keys.ts";
import type { Revocations } from "./revocations.ts";
import type { BrowserClient, SessionRecords } from "./session-records.ts";
import type { EndReason, SessionPlace, SessionRecord, SessionsOf, SessionStore, SessionsWhere } from "./session-store.ts";
import { createTokenRefresh } from "./token-refresh.ts";

export interface SessionLimits {
  readonly idleSeconds: number;
  readonly absoluteSeconds: number;
  readonly refreshAheadSeconds: number;
  readonly bindNetwork: boolean;
}

export interface SessionsParts extends Pick<GatewayParts, "now" | "metrics" | "log" | "hasEnded"> {
  readonly store: SessionStore;
  /** The same without its cache. */
  readonly uncached: Pick<SessionStore, "read">;
  readonly keys: SessionKeys;
  readonly oidc: Pick<OidcClient, "refresh">;
  readonly records: SessionRecords;
  readonly revocations: Revocations;
  readonly limits: SessionLimits;
}

export interface Sessions {
  /**
   * Begins a session with a new id and ends those it replaces (by their hashes). Throws when it cannot be recorded or stored, and
   * `identity_rejected` (403) for a person who may be here no more.
   */
  begin(
    who: SignedIn,
    client: BrowserClient,
    more: { readonly replaces?: readonly string[]; readonly isStepUp?: boolean; readonly correlationId: string },
  ): Promise<{ readonly sid: string; readonly record: SessionRecord }>;
  /**
   * The living session of an id. Throws `unauthenticated` or `session_binding` (401), `session_store_unavailable` or
   * `identity_provider_unavailable` (503).
   */
  recognise(sid: string, client: BrowserClient, correlationId: string): Promise<SessionRecord>;
  /**
   * Until when nothing of a living session runs out by itself, in milliseconds since 1970: then it is to be asked again. Tokens about to expire
   * are refreshed, as for a request; it is no use of the session, whose idle limit stays. Throws `unauthenticated` for a session that is not
   * there or that the provider has ended, `no_token_available` (401) for one past its limits, or whose access token has expired and cannot be
   * refreshed, and 503 as `recognise`.
   */
  livesUntil(sidHash: string): Promise<number>;
  /** Ends sessions and answers which; none is no fault. `by`: somebody else's session that ended them. */
  end(which: SessionsWhere, reason: EndReason, correlationId: string, by?: SessionRecord): Promise<readonly SessionRecord[]>;
  list(of: SessionsOf, page: { readonly limit: number; readonly after?: SessionPlace }): Promise<readonly SessionRecord[]>;
  /** Ends what is past its limits and counts the living. */
  sweep(): Promise<void>;
}

const TOUCH_MS = 60_000;
/** How long a person who was found to be here is not looked up again, for how many. */
const HERE_MS = 1000;
const MAX_HERE = 10_000;

const hereKey = ({ subject, tenant }: SessionRecord): string => `${tenant}\n${subject}`;

const gone = (): Problem => new Problem("unauthenticated", { headers: { "www-authenticate": "Cookie" } });

/** Sessions as the checks of the gateway see them. */
export const createSessions = (parts: SessionsParts): Sessions => {
  const { store, keys, limits } = parts;
  /** The client that a cached record was found to belong to: it need not be found again. */
  const seenClient = new WeakMap<SessionRecord, string>();
  const living = createLivingGauge(parts);
  const here = createTtlCache<SessionRecord>(MAX_HERE, parts.now);
  // Those of an earlier process are shown from the start.
  living.countSoon();

  const settle = async (ended: readonly SessionRecord[], reason: EndReason, correlationId: string, by?: SessionRecord): Promise<void> => {
    for (const _record of ended) parts.metrics.count("bff_sessions_destroyed_total", { reason });
    if (ended.length > 0) living.countSoon();
    await parts.revocations.add(ended);
    await parts.records.ended(ended, reason, correlationId, by);
  };
  const endOne = async (record: SessionRecord, reason: EndReason, correlationId: string): Promise<void> =>
    settle(await store.end({ sidHash: record.sidHash }, reason), reason, correlationId);
  const keepFresh = createTokenRefresh({
    ...parts,
    refreshAheadSeconds: limits.refreshAheadSeconds,
    end: (record, reason) => endOne(record, reason, randomUUID()),
    revoke: (record) => parts.revocations.add([record]),
    refreshed: (record) => parts.records.refreshed(record),
  });

  const expiryOf = (record: SessionRecord): "absolute" | "idle" | undefined => {
    const now = parts.now().getTime();
    if (record.absoluteExpiresAt.getTime() <= now) return "absolute";
    return record.idleExpiresAt.getTime() <= now ? "idle" : undefined;
  };

  /** Throws `unauthenticated` for a session whose person may be here no more, and ends it. */
  const requireHere = async (record: SessionRecord, correlationId: string): Promise<void> => {
    if (await parts.hasEnded(record.subject, record.tenant)) {
      await endOne(record, "person_ended", correlationId);
      throw gone();
    }
    here.set(hereKey(record), record, parts.now().getTime() + HERE_MS);
  };

  /** Whether the session is used from where it may be. Another browser is let in, so it is no failure: it is counted as an event. */
  const isBound = (record: SessionRecord, client: BrowserClient): boolean => {
    if (record.uaHash !== undefined && seenClient.get(record) !== client.userAgent) {
      if (keys.isClient(record.uaHash, client.userAgent)) seenClient.set(record, client.userAgent);
      else parts.metrics.count("bff_security_events_total", { event_type: "session_user_agent_changed", severity: "info" });
    }
    return !limits.bindNetwork || record.netHash === undefined || keys.isNetwork(record.netHash, client.address);
  };

  const refuseUnbound = async (record: SessionRecord, correlationId: string): Promise<never> => {
    parts.metrics.count("bff_session_binding_failures_total", { reason: "network" });
    parts.metrics.count("bff_security_events_total", { event_type: "session_binding", severity: "warning" });
    await endOne(record, "binding", correlationId);
    throw new Problem("session_binding", { headers: { "www-authenticate": "Cookie" } });
  };

  const touch = (record: SessionRecord): void => {
    const now = parts.now();
    if (now.getTime() - record.lastSeenAt.getTime() < TOUCH_MS) return;
    // Not worth holding up a request for: the next one tries again.
    store
      .touch(record.sidHash, now, new Date(now.getTime() + limits.idleSeconds * 1000))
      .catch((cause: unknown) => parts.log.warn("session_touch_failed", { cause }));
  };

  return {
    begin: async (who, client, more) => {
      if (await parts.hasEnded(who.sub, who.tenant))
        throw new Problem("identity_rejected", { detail: "You are suspended or removed here. An administrator can change that." });
      const sid = makeSid();
      const sidHash = hashSid(sid);
      const now = parts.now();
      const after = (seconds: number) => new Date(now.getTime() + seconds * 1000);
      const record: SessionRecord = {
        sidHash,
        ref: randomUUID(),
        generation: 1,
        subject: who.sub,
        tenant: who.tenant,
        issuer: who.issuer,
        idpSid: who.idpSession,
        idpSub: who.idpSubject,
        acr: who.acr,
        amr: who.amr,
        authTime: who.authTime,
        claims: { name: who.name, user_agent: clientName(client.userAgent) },
        uaHash: keys.hashClient(client.userAgent),
        netHash: limits.bindNetwork ? keys.hashNetwork(client.address) : undefined,
        createdAt: now,
        lastSeenAt: now,
        idleExpiresAt: after(limits.idleSeconds),
        absoluteExpiresAt: after(limits.absoluteSeconds),
        accessExpiresAt: new Date(who.tokens.accessExpiresAt * 1000),
        tokens: keys.sealTokens({ accessToken: who.tokens.accessToken, refreshToken: who.tokens.refreshToken }, sidHash, 1),
        tokenGeneration: 1,
      };
      const [first, ...others] = new Set(more.replaces ?? []);
      await parts.records.signedIn(record, client, more.correlationId, more.isStepUp === true && first !== undefined);
      const replaced = await store.create(record, first);
      parts.metrics.count("bff_sessions_created_total", {});
      living.countSoon();
      if (replaced !== undefined) await settle([replaced], "replaced", more.correlationId);
      for (const other of others) await settle(await store.end({ sidHash: other }, "replaced"), "replaced", more.correlationId);
      return { sid, record };
    },
    recognise: async (sid, client, correlationId) => {
      if (!isSid(sid)) throw gone();
      const record = await store.read(hashSid(sid));
      if (record === undefined) throw gone();
      // What needs no more than the record is looked at without waiting for anything.
      const expiry = expiryOf(record);
      if (expiry !== undefined) {
        await endOne(record, expiry, correlationId);
        throw gone();
      }
      if (!isBound(record, client)) await refuseUnbound(record, correlationId);
      if (here.get(hereKey(record)) === undefined) await requireHere(record, correlationId);
      const fresh = await keepFresh(record);
      touch(fresh);
      return fresh;
    },
    livesUntil: async (sidHash) => {
      // Not the cache's: a request in another process may have moved the idle limit since.
      const record = await parts.uncached.read(sidHash);
      if (record === undefined) throw gone();
      const expiry = expiryOf(record);
      if (expiry !== undefined) {
        await endOne(record, expiry, randomUUID());
        throw new Problem("no_token_available", { detail: "The session has expired." });
      }
      await requireHere(record, randomUUID());
      const { accessExpiresAt } = await keepFresh(record);
      const now = parts.now().getTime();
      const access = accessExpiresAt?.getTime() ?? Infinity;
      if (access <= now) throw new Problem("no_token_available", { detail: "The access token has expired and cannot be refreshed." });
      const ahead = access - limits.refreshAheadSeconds * 1000;
      return Math.min(ahead > now ? ahead : access, record.idleExpiresAt.getTime(), record.absoluteExpiresAt.getTime());
    },
    end: async (which, reason, correlationId, by) => {
      const ended = await store.end(which, reason);
      await settle(ended, reason, correlationId, by);
      return ended;
    },
    list: (of, page) => store.list(of, { ...page, now: parts.now() }),
    sweep: async () => {
      try {
        for (const { record, reason } of await store.endExpired(parts.now())) await settle([record], reason, randomUUID());
      } finally {
        // Whatever became of one that ended, the others are counted.
        await living.count();
      }
    },
  };
};
