import { endSession, listSessions } from "#contract/session.ts";
import { Problem } from "#contract/problem.ts";
import { reply } from "#gateway/reply.ts";
import type { SessionCookies } from "#gateway/sessions/session-cookies.ts";
import type { SessionRecord } from "#gateway/sessions/session-store.ts";
import type { Sessions } from "#gateway/sessions/sessions.ts";

/** `GET /api/v1/sessions`: the caller's own living sessions, newest first. */
export const answerSessions = async (sessions: Sessions, own: SessionRecord): Promise<Response> => {
  const list = await sessions.list({ tenant: own.tenant, subject: own.subject }, { limit: 200 });
  return reply(listSessions, {
    sessions: list.map((record) => ({
      id: record.ref,
      current: record.ref === own.ref,
      subject: record.subject,
      created_at: record.createdAt.toISOString(),
      last_seen_at: record.lastSeenAt.toISOString(),
      expires_at: (record.idleExpiresAt < record.absoluteExpiresAt ? record.idleExpiresAt : record.absoluteExpiresAt).toISOString(),
      user_agent: record.claims.user_agent,
      ...(record.acr === undefined ? {} : { acr: record.acr }),
    })),
  });
};

/** `DELETE /api/v1/sessions/{id}`: ends one of the caller's own. Another's is not there. */
export const answerEndSession = async (
  parts: { readonly sessions: Sessions; readonly cookies: SessionCookies },
  own: SessionRecord,
  ref: string,
  correlationId: string,
): Promise<Response> => {
  const ended = await parts.sessions.end({ tenant: own.tenant, subject: own.subject, ref }, "logout", correlationId);
  if (ended.length === 0) throw new Problem("not_found");
  const more = ref === own.ref ? { headers: { "set-cookie": parts.cookies.clearSid() } } : {};
  return reply(endSession, { sessions_ended: ended.length }, more);
};
