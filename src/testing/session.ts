import { randomUUID } from "node:crypto";
import { hashSid, makeSid } from "#gateway/sessions/session-id.ts";
import type { SessionKeys, SessionTokens } from "#gateway/sessions/session-keys.ts";
import type { SessionRecord } from "#gateway/sessions/session-store.ts";

/** A session as sign-in leaves it, for a store to keep; its id is what the cookie holds. */
export const makeSession = (given: {
  readonly keys: SessionKeys;
  readonly now: Date;
  readonly subject: string;
  readonly tokens?: SessionTokens;
  readonly more?: Partial<SessionRecord>;
}): { readonly sid: string; readonly record: SessionRecord } => {
  const { keys, now, subject } = given;
  const sid = makeSid();
  const sidHash = hashSid(sid);
  const after = (seconds: number) => new Date(now.getTime() + seconds * 1000);
  return {
    sid,
    record: {
      sidHash,
      ref: randomUUID(),
      generation: 1,
      subject,
      tenant: subject === "person:eve" ? "tenant:globex" : "tenant:acme",
      issuer: "http://localhost:8081",
      idpSid: undefined,
      idpSub: undefined,
      acr: undefined,
      amr: ["pwd"],
      authTime: Math.floor(now.getTime() / 1000),
      claims: { name: subject.replace("person:", ""), user_agent: "Chrome on Linux" },
      uaHash: undefined,
      netHash: undefined,
      createdAt: now,
      lastSeenAt: now,
      idleExpiresAt: after(3600),
      absoluteExpiresAt: after(28_800),
      accessExpiresAt: after(3600),
      tokens: keys.sealTokens(given.tokens ?? { accessToken: "access-token-of-test" }, sidHash, 1),
      tokenGeneration: 1,
      ...given.more,
    },
  };
};
