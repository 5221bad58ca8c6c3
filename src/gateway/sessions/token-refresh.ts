import type { OidcClient } from "#authn/oidc.ts";
import { Problem } from "#contract/problem.ts";
import type { Log } from "#telemetry/log.ts";
import type { Metrics } from "#telemetry/metrics.ts";
import type { SessionKeys, SessionTokens } from "./session-keys.ts";
import type { EndReason, SessionRecord, SessionStore } from "./session-store.ts";

export interface TokenRefreshParts {
  readonly store: SessionStore;
  readonly keys: SessionKeys;
  readonly oidc: Pick<OidcClient, "refresh">;
  /** Ends a session whose provider ended it. */
  readonly end: (record: SessionRecord, reason: EndReason) => Promise<void>;
  readonly refreshAheadSeconds: number;
  readonly now: () => Date;
  readonly metrics: Metrics;
  readonly log: Log;
}

const REST_MS = 2000;

/**
 * Keeps a session's tokens alive, and so learns when the provider ended it. One refresh a session at a time in this
 * process; among several processes the kept generation decides whose tokens stay. Ahead of the expiry it runs in the
 * background; once the access token has expired the request waits for it. A provider that is down never ends a session:
 * until the expiry it serves on, after it the answer is `identity_provider_unavailable` (503).
 */
export const createTokenRefresh = (parts: TokenRefreshParts): ((record: SessionRecord) => Promise<SessionRecord>) => {
  const running = new Map<string, Promise<SessionRecord>>();
  /** Sent without an answer: if the provider then knows the token no more, it was spent by that. */
  const uncertain = new Set<string>();
  const restUntil = new Map<string, number>();

  const count = (status: "success" | "failed" | "unknown") =>
    parts.metrics.count("bff_token_refresh_total", { service: "identity_provider", status });
  const fail = async (record: SessionRecord, reason: "refresh_denied" | "refresh_unknown"): Promise<never> => {
    count(reason === "refresh_denied" ? "failed" : "unknown");
    parts.metrics.count("bff_token_refresh_failed_total", { reason });
    await parts.end(record, reason);
    throw new Problem("unauthenticated", { detail: "The identity provider has ended this session." });
  };

  const refresh = async (record: SessionRecord, refreshToken: string): Promise<SessionRecord> => {
    const tokens = await parts.oidc.refresh(refreshToken).catch((error: unknown) => {
      uncertain.add(record.ref);
      restUntil.set(record.ref, parts.now().getTime() + REST_MS);
      count("unknown");
      parts.metrics.count("bff_token_refresh_failed_total", { reason: "unavailable" });
      throw error;
    });
    if (tokens === undefined) {
      const newer = await parts.store.read(record.sidHash);
      if (newer !== undefined && newer.tokenGeneration > record.tokenGeneration) return newer;
      return fail(record, uncertain.has(record.ref) ? "refresh_unknown" : "refresh_denied");
    }
    uncertain.delete(record.ref);
    // A provider that sends no new refresh token leaves the old one in force.
    const next: SessionTokens = { accessToken: tokens.accessToken, refreshToken: tokens.refreshToken ?? refreshToken };
    const accessExpiresAt = new Date(tokens.accessExpiresAt * 1000);
    const sealed = parts.keys.sealTokens(next, record.sidHash, record.tokenGeneration + 1);
    const isKept = await parts.store.replaceTokens(record.sidHash, record.tokenGeneration, { tokens: sealed, accessExpiresAt });
    count("success");
    parts.metrics.count("bff_token_refresh_success_total", {
      user_id: parts.keys.hashClient(`${record.tenant} ${record.subject}`).slice(0, 16),
    });
    if (isKept) return { ...record, tokens: sealed, accessExpiresAt, tokenGeneration: record.tokenGeneration + 1 };
    const newer = await parts.store.read(record.sidHash);
    if (newer === undefined) throw new Problem("unauthenticated");
    return newer;
  };

  const singleFlight = (record: SessionRecord, refreshToken: string): Promise<SessionRecord> => {
    const under = running.get(record.ref);
    if (under !== undefined) return under;
    const started = refresh(record, refreshToken).finally(() => running.delete(record.ref));
    running.set(record.ref, started);
    return started;
  };

  return async (record) => {
    const now = parts.now().getTime();
    const expiresAt = record.accessExpiresAt?.getTime();
    if (expiresAt === undefined || now < expiresAt - parts.refreshAheadSeconds * 1000) return record;
    const refreshToken = parts.keys.openTokens(record)?.refreshToken;
    if (refreshToken === undefined) return record;
    const isResting = now < (restUntil.get(record.ref) ?? 0);
    if (now < expiresAt) {
      if (isResting) return record;
      singleFlight(record, refreshToken).catch((cause: unknown) => parts.log.warn("token_refresh_failed", { cause }));
      return record;
    }
    if (isResting) throw new Problem("identity_provider_unavailable", { headers: { "retry-after": "5" } });
    return singleFlight(record, refreshToken);
  };
};
