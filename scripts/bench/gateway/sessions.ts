import { randomUUID } from "node:crypto";
import { createSessionKeys } from "#gateway/sessions/session-keys.ts";
import { createDatabaseSessionStore } from "#gateway/sessions/database-session-store.ts";
import { hashSid, makeSid } from "#gateway/sessions/session-id.ts";
import type { SessionRecord } from "#gateway/sessions/session-store.ts";
import type { HouseSecrets } from "#authn/seal.ts";
import { createPostgres } from "#store/postgres.ts";
import { silentLog } from "#telemetry/log.ts";

/** What the browser of one session sends with each request. */
export interface BrowserSession {
  readonly sid: string;
  readonly csrf: string;
}

/** Keeps so many living sessions in the gateway's own table, as sign-in leaves them. */
export const makeSessions = async (databaseUrl: string, secrets: HouseSecrets, count: number): Promise<readonly BrowserSession[]> => {
  await using database = await createPostgres({ url: databaseUrl, poolSize: 4, log: silentLog });
  const store = createDatabaseSessionStore(database);
  const keys = createSessionKeys(secrets);
  const now = new Date();
  const after = (seconds: number) => new Date(now.getTime() + seconds * 1000);
  const userAgent = "wrk";
  const made = Array.from({ length: count }, (_, index) => {
    const sid = makeSid();
    const sidHash = hashSid(sid);
    const record: SessionRecord = {
      sidHash,
      ref: randomUUID(),
      generation: 1,
      subject: `person:${index}`,
      tenant: "tenant:acme",
      issuer: "http://localhost:8081",
      idpSub: `person:${index}`,
      idpSid: undefined,
      acr: undefined,
      amr: ["pwd"],
      authTime: Math.floor(now.getTime() / 1000),
      claims: { name: `Person ${index}`, user_agent: userAgent },
      uaHash: keys.hashClient(userAgent),
      netHash: undefined,
      createdAt: now,
      lastSeenAt: now,
      idleExpiresAt: after(3600),
      absoluteExpiresAt: after(28_800),
      accessExpiresAt: after(28_800),
      tokens: keys.sealTokens({ accessToken: "access-token-of-the-bench", refreshToken: "refresh-token-of-the-bench" }, sidHash, 1),
      tokenGeneration: 1,
    };
    return { session: { sid, csrf: keys.csrfToken(record) }, record };
  });
  for (const { record } of made) await store.create(record);
  return made.map(({ session }) => session);
};
