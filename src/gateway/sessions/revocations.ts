import type { OidcClient } from "#authn/oidc-client.ts";
import { statement, type Database } from "#store/database.ts";
import type { Log } from "#telemetry/log.ts";
import type { SessionKeys } from "./session-keys.ts";
import type { SessionRecord } from "./session-store.ts";

export interface Revocations {
  /** Remembers the refresh tokens of ended sessions and has them revoked soon. Never throws. */
  add(records: readonly SessionRecord[]): Promise<void>;
  /** Tries all that are due. */
  run(): Promise<void>;
}

const TRIED_FOR_MS = 24 * 3_600_000;
const PAUSE_MS = 60_000;

/** A token that came while its session ended takes the place of the one that was spent for it. */
const ADD = statement(
  "gateway.revocation_add",
  `insert into gateway.revocation (ref, token, next_at, expires_at) values ($1, $2, $3, $4)
   on conflict (ref) do update set token = excluded.token, next_at = excluded.next_at, expires_at = excluded.expires_at`,
);
/** Taking one moves its next try, so that two processes do not try the same at once. */
const TAKE = statement<{ ref: string; token: Uint8Array }>(
  "gateway.revocation_take",
  `update gateway.revocation set next_at = $2 where ref in
     (select ref from gateway.revocation where next_at <= $1 and expires_at > $1 order by next_at limit 50 for update skip locked)
   returning ref, token`,
);
/** Of a session's row only with the token that was revoked: another one may have taken its place meanwhile. */
const DONE = statement("gateway.revocation_done", "delete from gateway.revocation where (ref = $1 and token = $2) or expires_at <= $3");

/** Refresh tokens outlive a session at the provider unless they are revoked there (RFC 7009): tried for 24 hours. */
export const createRevocations = (parts: {
  readonly database: Database;
  readonly keys: SessionKeys;
  readonly oidc: Pick<OidcClient, "revoke">;
  readonly now: () => Date;
  readonly log: Log;
}): Revocations => {
  const run = async (): Promise<void> => {
    const now = parts.now();
    try {
      for (const { ref, token } of await parts.database.run(TAKE, [now, new Date(now.getTime() + PAUSE_MS)])) {
        const plain = parts.keys.openRevocation(token, ref);
        if (plain === undefined || (await parts.oidc.revoke(plain))) await parts.database.run(DONE, [ref, token, now]);
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
      for (const record of records) {
        const token = parts.keys.openTokens(record)?.refreshToken;
        if (token === undefined) continue;
        const values = [record.ref, parts.keys.sealRevocation(token, record.ref), now, new Date(now.getTime() + TRIED_FOR_MS)];
        await parts.database.run(ADD, values).then(
          () => (added += 1),
          (cause: unknown) => parts.log.warn("revocation_not_kept", { cause }),
        );
      }
      if (added > 0) void run();
    },
  };
};
