import { createSessionKeys } from "#gateway/sessions/session-keys.ts";
import { createDatabaseSessionStore } from "#gateway/sessions/database-session-store.ts";
import type { InstanceSecrets } from "#authn/sealing/seal.ts";
import { createPostgres } from "#store/postgres.ts";
import { silentLog } from "#telemetry/log.ts";
import { makeSession } from "#testing/session.ts";

/** What the browser of one session sends with each request. */
export interface BrowserSession {
  readonly sid: string;
  readonly csrf: string;
}

/** Keeps so many living sessions in the gateway's own table, as sign-in leaves them. */
export const makeSessions = async (databaseUrl: string, secrets: InstanceSecrets, count: number): Promise<readonly BrowserSession[]> => {
  await using database = await createPostgres({ url: databaseUrl, poolSize: 4, log: silentLog });
  const store = createDatabaseSessionStore(database);
  const keys = createSessionKeys(secrets);
  const now = new Date();
  const made = Array.from({ length: count }, (_, index) => {
    const { sid, record } = makeSession({
      keys,
      now,
      subject: `person:${index}`,
      tokens: { accessToken: "access-token-of-the-bench", refreshToken: "refresh-token-of-the-bench" },
      more: { idpSub: `person:${index}`, uaHash: keys.hashClient("wrk"), accessExpiresAt: new Date(now.getTime() + 28_800_000) },
    });
    return { session: { sid, csrf: keys.csrfToken(record) }, record };
  });
  for (const { record } of made) await store.create(record);
  return made.map(({ session }) => session);
};
