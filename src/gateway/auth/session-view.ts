import { getCsrf, getSession } from "#contract/session.ts";
import { Problem } from "#contract/problem.ts";
import type { BuiltInHandler } from "#gateway/steps/built-in.ts";
import type { Steps } from "#gateway/steps/steps.ts";
import { reply } from "#gateway/model/reply.ts";
import type { SessionKeys } from "#gateway/sessions/session-keys.ts";

export interface SessionViewParts extends Pick<Steps, "recogniser" | "csrf" | "reveal"> {
  readonly keys: SessionKeys;
}

/** `GET /auth/session`: who is signed in; never a token, an id of the session or an e-mail address. */
export const createSessionView = (parts: SessionViewParts): BuiltInHandler => {
  return async ({ inbound }) => {
    if (!parts.recogniser.hasCookie(inbound)) return reply(getSession, { authenticated: false });
    parts.csrf.guardOrigin(inbound);
    try {
      const { record } = await parts.recogniser.session(inbound);
      const expiresAt = record.idleExpiresAt < record.absoluteExpiresAt ? record.idleExpiresAt : record.absoluteExpiresAt;
      return reply(getSession, {
        authenticated: true,
        subject: { id: record.subject, name: record.claims.name },
        tenant: record.tenant,
        csrf_token: parts.keys.csrfToken(record),
        expires_at: expiresAt.toISOString(),
        acr: record.acr,
        auth_time: record.authTime,
        secret_reveal: parts.reveal.isAllowed,
      });
    } catch (error) {
      if (!(error instanceof Problem) || error.status !== 401) throw error;
      const cookie = error.options.headers?.["set-cookie"];
      return reply(getSession, { authenticated: false }, cookie === undefined ? {} : { headers: { "set-cookie": cookie } });
    }
  };
};

/** `GET /auth/csrf`: the token of this session and the headers that carry it. */
export const createCsrfView = (parts: Omit<SessionViewParts, "reveal">): BuiltInHandler => {
  return async ({ inbound }) => {
    const { record } = await parts.recogniser.session(inbound);
    parts.csrf.guard(inbound, record);
    return reply(getCsrf, {
      csrf_token: parts.keys.csrfToken(record),
      headers: ["X-CSRF-Token", "X-CSRFToken"],
      requested_with: "XMLHttpRequest",
    });
  };
};
