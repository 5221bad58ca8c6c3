import type { OidcClient } from "#authn/provider/oidc-client.ts";
import type { GatewayParts } from "#gateway/model/gateway-parts.ts";
import { statement } from "#store/database.ts";
import type { SessionKeys } from "./session-keys.ts";
import type { SessionRecord, SessionStore } from "./session-store.ts";

export interface Revocations {
  /** Remembers the refresh tokens of ended sessions and has them revoked soon. Never throws. */
  add(records: readonly SessionRecord[]): Promise<void>;
  /** Tries all that are due. */
  run(): Promise<void>;
}

const TRIED_FOR_MS = 24 * 3_600_000;
const PAUSE_MS = 60_000;
/** A token that must wait for another session is woken by that session's end; this is for an end that nobody could tell. */
const LOOK_MS = 6 * 3_600_000;

/** A token that came while its session ended takes the place of the one that was spent for it. */
const ADD = statement(
  "gateway.revocation_add",
  `insert into gateway.revocation (ref, token, next_at, expires_at, issuer, idp_sid, idp_sub) values ($1, $2, $3, $4, $5, $6, $7)
   on conflict (ref) do update set token = excluded.token, next_at = excluded.next_at, expires_at = excluded.expires_at`,
);
/** Those that waited for a session of this person at the provider. */
const WAKE = statement(
  "gateway.revocation_wake",
  "update gateway.revocation set next_at = $3 where issuer = $1 and idp_sub = $2 and next_at > $3",
);
/** Taking one moves its next try, so that two processes do not try the same at once. */
const TAKE = statement<{ ref: string; token: Uint8Array; issuer: string | null; idp_sid: string | null; idp_sub: string | null }>(
  "gateway.revocation_take",
  `update gateway.revocation set next_at = $2 where ref in
     (select ref from gateway.revocation where next_at <= $1 and expires_at > $1 order by next_at limit 50 for update skip locked)
   returning ref, token, issuer, idp_sid, idp_sub`,
);
/** Unless it was woken since it was taken. */
const WAIT = statement(
  "gateway.revocation_wait",
  "update gateway.revocation set next_at = $3, expires_at = $4 where ref = $1 and next_at = $2",
);
/** Of a session's row only with the token that was revoked: another one may have taken its place meanwhile. */
const DONE = statement("gateway.revocation_done", "delete from gateway.revocation where (ref = $1 and token = $2) or expires_at <= $3");

/**
 * Refresh tokens outlive a session at the provider unless they are revoked there (RFC 7009): tried for 24 hours. Some
 * providers end their whole session with it, so a token waits for as long as another session of ours lives on that one.
 */
export const createRevocations = (
  parts: Pick<GatewayParts, "database" | "now" | "log"> & {
    readonly store: Pick<SessionStore, "isShared">;
    readonly keys: SessionKeys;
    readonly oidc: Pick<OidcClient, "revoke">;
  },
): Revocations => {
  const run = async (): Promise<void> => {
    const now = parts.now();
    const after = (milliseconds: number) => new Date(now.getTime() + milliseconds);
    try {
      const taken = after(PAUSE_MS);
      for (const { ref, token, issuer, idp_sid: idpSid, idp_sub: idpSub } of await parts.database.run(TAKE, [now, taken])) {
        const plain = parts.keys.openRevocation(token, ref);
        const from = issuer === null ? undefined : { issuer, idpSid: idpSid ?? undefined, idpSub: idpSub ?? undefined };
        if (plain !== undefined && from !== undefined && (await parts.store.isShared(from, now)))
          await parts.database.run(WAIT, [ref, taken, after(LOOK_MS), after(LOOK_MS + TRIED_FOR_MS)]);
        else if (plain === undefined || (await parts.oidc.revoke(plain))) await parts.database.run(DONE, [ref, token, now]);
      }
    } catch (cause) {
      parts.log.warn("revocation_failed", { cause });
    }
  };
  return {
    run,
    add: async (records) => {
      const now = parts.now();
      let added = 0;
      const note = (noted: Promise<unknown>) =>
        noted.then(
          () => (added += 1),
          (cause: unknown) => parts.log.warn("revocation_not_kept", { cause }),
        );
      for (const record of records) {
        const { ref, issuer, idpSid, idpSub } = record;
        const token = parts.keys.openTokens(record)?.refreshToken;
        const until = new Date(now.getTime() + TRIED_FOR_MS);
        if (token !== undefined)
          await note(
            parts.database.run(ADD, [ref, parts.keys.sealRevocation(token, ref), now, until, issuer, idpSid ?? null, idpSub ?? null]),
          );
        if (idpSub !== undefined) await note(parts.database.run(WAKE, [issuer, idpSub, now]));
      }
      if (added > 0) void run();
    },
  };
};
