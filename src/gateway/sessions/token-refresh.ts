import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { OidcClient, ProviderTokens } from "#authn/provider/oidc-client.ts";
import { Problem } from "#contract/problem.ts";
import type { GatewayParts } from "#gateway/model/gateway-parts.ts";
import type { SessionKeys, SessionTokens } from "./session-keys.ts";
import type { EndReason, SessionRecord, SessionStore } from "./session-store.ts";

export interface TokenRefreshParts extends Pick<GatewayParts, "now" | "metrics" | "log"> {
  readonly store: SessionStore;
  readonly keys: SessionKeys;
  readonly oidc: Pick<OidcClient, "refresh">;
  /** Ends a session whose provider ended it. */
  readonly end: (record: SessionRecord, reason: EndReason) => Promise<void>;
  /** Has the tokens of a record revoked that came when its session had ended: nobody else knows of them. Never throws. */
  readonly revoke: (record: SessionRecord) => Promise<void>;
  /** Told of each session whose tokens are new. Never throws. */
  readonly refreshed?: (record: SessionRecord) => Promise<void>;
  readonly refreshAheadSeconds: number;
  readonly times?: Partial<RefreshTimes>;
}

/** All in milliseconds. */
export interface RefreshTimes {
  readonly lease: number;
  readonly renew: number;
  /** How long a request waits for somebody's refresh. */
  readonly wait: number;
  /** Between two looks at a lease that another process holds. */
  readonly look: number;
  /** After a failure the provider is left alone for so long. */
  readonly rest: number;
}

const usual: RefreshTimes = { lease: 10_000, renew: 3000, wait: 12_000, look: 200, rest: 2000 };

const unavailable = (cause?: unknown): Problem => new Problem("identity_provider_unavailable", { cause, headers: { "retry-after": "5" } });
const ended = (): Problem => new Problem("unauthenticated", { detail: "The identity provider has ended this session." });

/**
 * Keeps a session's tokens alive, and so learns when the provider ended it. Of all processes one at a time redeems the
 * refresh token, under a lease in the session store; the others wait for what it keeps, and take the lease when it lapses.
 * Ahead of the expiry it runs in the background; once the access token has expired the request waits, at most 12 s. A
 * provider that is down never ends a session: until the expiry it serves on, after it the answer is
 * `identity_provider_unavailable` (503). One that may have spent the token without telling is asked once more; if it then
 * knows the token no more the session ends as `refresh_unknown`.
 */
export const createTokenRefresh = (parts: TokenRefreshParts): ((record: SessionRecord) => Promise<SessionRecord>) => {
  const times = { ...usual, ...parts.times };
  const running = new Map<string, Promise<SessionRecord>>();
  const restUntil = new Map<string, number>();

  const count = (status: "success" | "failed" | "unknown", reason?: string): void => {
    parts.metrics.count("bff_token_refresh_total", { service: "identity_provider", status });
    if (reason !== undefined) parts.metrics.count("bff_token_refresh_failed_total", { reason });
  };

  const keep = async (record: SessionRecord, tokens: ProviderTokens, refreshToken: string): Promise<SessionRecord> => {
    // A provider that sends no new refresh token leaves the old one in force.
    const next: SessionTokens = { accessToken: tokens.accessToken, refreshToken: tokens.refreshToken ?? refreshToken };
    const accessExpiresAt = new Date(tokens.accessExpiresAt * 1000);
    const tokenGeneration = record.tokenGeneration + 1;
    const sealed = parts.keys.sealTokens(next, record.sidHash, tokenGeneration);
    const isKept = await parts.store.replaceTokens(record.sidHash, record.tokenGeneration, { tokens: sealed, accessExpiresAt });
    count("success");
    parts.metrics.count("bff_token_refresh_success_total", {
      user_id: parts.keys.hashClient(`${record.tenant} ${record.subject}`).slice(0, 16),
    });
    const fresh = { ...record, tokens: sealed, accessExpiresAt, tokenGeneration };
    if (isKept) {
      await parts.refreshed?.(fresh);
      return fresh;
    }
    const newer = await parts.store.read(record.sidHash);
    if (newer !== undefined) return newer;
    await parts.revoke(fresh);
    throw ended();
  };

  const readNewer = async (record: SessionRecord): Promise<SessionRecord> => {
    const newer = await parts.store.read(record.sidHash);
    if (newer === undefined) throw ended();
    return newer;
  };

  /** Asks the provider under a lease that is kept alive meanwhile. `undefined`: it may have spent the token, without an answer. */
  const redeem = async (
    record: SessionRecord,
    refreshToken: string,
    owner: string,
    afterUnknown: boolean,
  ): Promise<SessionRecord | undefined> => {
    const ask = { generation: record.tokenGeneration, owner, milliseconds: times.lease };
    const renewal = setInterval(() => void parts.store.lease(record.sidHash, ask).catch(() => undefined), times.renew).unref();
    const outcome = await parts.oidc.refresh(refreshToken).finally(() => clearInterval(renewal));
    if (outcome.kind === "tokens") return keep(record, outcome.tokens, refreshToken);
    if (outcome.kind === "denied") {
      const newer = await parts.store.read(record.sidHash);
      if (newer !== undefined && newer.tokenGeneration > record.tokenGeneration) return newer;
      const reason = afterUnknown ? "refresh_unknown" : "refresh_denied";
      count(afterUnknown ? "unknown" : "failed", reason);
      await parts.end(record, reason);
      throw ended();
    }
    // Once unsure stays unsure, whatever kept this try from being sent.
    const isUnsure = afterUnknown || outcome.kind === "unanswered";
    await parts.store.release(record.sidHash, owner, isUnsure ? "unknown" : "unsent").catch(() => undefined);
    parts.log.warn("token_refresh_failed", { outcome: outcome.kind, session_ref: record.ref, cause: outcome.cause });
    count("unknown", outcome.kind);
    if (outcome.kind === "unanswered" && !afterUnknown) return undefined;
    throw unavailable(outcome.cause);
  };

  const refresh = async (record: SessionRecord, refreshToken: string): Promise<SessionRecord> => {
    const until = performance.now() + times.wait;
    for (;;) {
      // A name for each try, so that nobody takes the lease of an earlier one for their own.
      const owner = randomUUID();
      const ask = { generation: record.tokenGeneration, owner, milliseconds: times.lease };
      const lease = await parts.store.lease(record.sidHash, ask);
      if (lease.kind === "moved") return readNewer(record);
      if (lease.kind === "held") {
        const got = await redeem(record, refreshToken, owner, lease.afterUnknown);
        if (got !== undefined) return got;
        continue;
      }
      if (performance.now() + times.look > until) throw unavailable();
      await sleep(times.look);
    }
  };

  const singleFlight = (record: SessionRecord, refreshToken: string): Promise<SessionRecord> => {
    const key = `${record.ref} ${record.tokenGeneration}`;
    const under = running.get(key);
    if (under !== undefined) return under;
    const started = refresh(record, refreshToken)
      .catch((error: unknown) => {
        if (error instanceof Problem && error.code === "identity_provider_unavailable")
          rest(record.ref, parts.now().getTime() + times.rest);
        throw error;
      })
      .finally(() => running.delete(key));
    running.set(key, started);
    // Whoever waits hears of a failure; nobody may.
    started.catch(() => undefined);
    return started;
  };

  const rest = (ref: string, until: number): void => {
    for (const [other, at] of restUntil) if (at < until - times.rest) restUntil.delete(other);
    restUntil.set(ref, until);
  };

  /** The same, but not longer than a request may wait. */
  const awaited = async (flight: Promise<SessionRecord>): Promise<SessionRecord> => {
    const late = new AbortController();
    try {
      return await Promise.race([
        flight,
        sleep(times.wait, undefined, { signal: late.signal }).then(() => {
          throw unavailable();
        }),
      ]);
    } finally {
      late.abort();
    }
  };

  return async (record) => {
    const now = parts.now().getTime();
    const expiresAt = record.accessExpiresAt?.getTime();
    if (expiresAt === undefined || now < expiresAt - parts.refreshAheadSeconds * 1000) return record;
    const refreshToken = parts.keys.openTokens(record)?.refreshToken;
    if (refreshToken === undefined) return record;
    const isResting = now < (restUntil.get(record.ref) ?? 0);
    if (now >= expiresAt && isResting) throw unavailable();
    if (isResting) return record;
    const flight = singleFlight(record, refreshToken);
    return now < expiresAt ? record : awaited(flight);
  };
};
