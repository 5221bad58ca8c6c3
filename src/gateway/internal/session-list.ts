import { createSealedCursors, pageOf } from "#authn/sealing/sealed-cursors.ts";
import { endSession, endSessionsOf, listSessions, sessionListQuery, sessionsOfQuery } from "#contract/session.ts";
import { Problem } from "#contract/problem.ts";
import { parseQuery } from "#gateway/auth/query.ts";
import type { GatewayParts } from "#gateway/model/gateway-parts.ts";
import type { Recognised } from "#gateway/steps/recognise.ts";
import { createRecordDenial } from "#gateway/steps/record-denial.ts";
import { reply } from "#gateway/model/reply.ts";
import type { InternalHandler, RouteCall } from "#gateway/steps/route-call.ts";
import type { SessionCookies } from "#gateway/sessions/session-cookies.ts";
import type { SessionRecord } from "#gateway/sessions/session-store.ts";
import type { Sessions } from "#gateway/sessions/sessions.ts";
import type { PdpClient } from "#pdp-client/pdp-client.ts";

const DEFAULT_LIMIT = 100;

type SessionCaller = Recognised & { readonly kind: "session" };

/** Whoever comes with a session. Throws `session_required`. */
export const requireSession = ({ who }: RouteCall): SessionCaller => {
  if (who.kind !== "session") throw new Problem("session_required");
  return who;
};

const viewOf = (record: SessionRecord, own: SessionRecord) => ({
  id: record.ref,
  current: record.ref === own.ref,
  subject: record.subject,
  created_at: record.createdAt.toISOString(),
  last_seen_at: record.lastSeenAt.toISOString(),
  expires_at: (record.idleExpiresAt < record.absoluteExpiresAt ? record.idleExpiresAt : record.absoluteExpiresAt).toISOString(),
  user_agent: record.claims.user_agent,
  acr: record.acr,
});

/**
 * Sessions as people see and end them. Their own always; those of others in the tenant with the right `sessions/view_all`
 * or `sessions/revoke`. What one may not end is answered like what is not there.
 */
export const createSessionList = (
  parts: Pick<GatewayParts, "recorder" | "secrets" | "log" | "now"> & {
    readonly sessions: Pick<Sessions, "list" | "end">;
    readonly cookies: SessionCookies;
    readonly pdpClient: Pick<PdpClient, "decide" | "refusal">;
  },
): { readonly list: InternalHandler; readonly endOne: InternalHandler; readonly endOf: InternalHandler } => {
  const cursors = createSealedCursors<readonly [createdMs: number, ref: string]>({ ...parts, purpose: "gateway.session-list" });
  const recordDenial = createRecordDenial(parts);

  /** Asks for a right over the tenant's sessions; why it is not there is recorded and handed back. */
  const refusalOf = async (call: RouteCall, who: SessionCaller, action: "view_all" | "revoke"): Promise<Problem | undefined> => {
    const { inbound, route } = call;
    const ask = { type: "sessions", action, context: { route: route.id, method: inbound.method } };
    const decided = await parts.pdpClient.decide(who.principal, ask, inbound.correlationId);
    const refusal = parts.pdpClient.refusal(who.principal, decided, { publicOrigin: inbound.origin });
    if (refusal === undefined) return undefined;
    await recordDenial({ ...who, inbound, route, method: inbound.method }, ask, decided, decided.reason ?? refusal.code);
    return refusal;
  };
  /** The right to end what is another's. Without it there is nothing there; with a stronger sign-in there might be. */
  const requireRevoke = async (call: RouteCall, who: SessionCaller): Promise<void> => {
    const refusal = await refusalOf(call, who, "revoke");
    if (refusal !== undefined) throw refusal.code === "step_up_required" ? refusal : new Problem("not_found");
  };

  return {
    list: async (call) => {
      const who = requireSession(call);
      const own = who.record;
      const query = parseQuery(sessionListQuery, call.inbound.target.query);
      const subject = query.subject ?? (query.all ? undefined : own.subject);
      if (subject !== own.subject) {
        const refusal = await refusalOf(call, who, "view_all");
        if (refusal !== undefined) throw refusal;
      }
      const bound = [own.tenant, own.subject, subject ?? null];
      const limit = query.limit ?? DEFAULT_LIMIT;
      const [createdMs, ref] = query.cursor === undefined ? [] : cursors.open(query.cursor, bound);
      const after = createdMs === undefined || ref === undefined ? undefined : { createdAt: new Date(createdMs), ref };
      const of = { tenant: own.tenant, subject };
      const { page, last } = pageOf(await parts.sessions.list(of, { limit: limit + 1, after }), limit);
      return reply(listSessions, {
        sessions: page.map((record) => viewOf(record, own)),
        nextCursor: last && cursors.seal([last.createdAt.getTime(), last.ref], bound),
      });
    },
    endOne: async (call) => {
      const who = requireSession(call);
      const own = who.record;
      const ref = call.captures.get("id") ?? "";
      const { correlationId } = call.inbound;
      let ended = await parts.sessions.end({ tenant: own.tenant, subject: own.subject, ref }, "logout", correlationId);
      if (ended.length === 0) {
        await requireRevoke(call, who);
        ended = await parts.sessions.end({ tenant: own.tenant, ref }, "admin", correlationId, own);
      }
      if (ended.length === 0) throw new Problem("not_found");
      const more = ref === own.ref ? { headers: { "set-cookie": parts.cookies.clearSid() } } : {};
      return reply(endSession, { sessions_ended: ended.length }, more);
    },
    endOf: async (call) => {
      const who = requireSession(call);
      const own = who.record;
      const { subject } = parseQuery(sessionsOfQuery, call.inbound.target.query);
      const { correlationId } = call.inbound;
      const isOwn = subject === own.subject;
      if (!isOwn) await requireRevoke(call, who);
      const of = { tenant: own.tenant, subject };
      const ended = isOwn
        ? await parts.sessions.end(of, "everywhere", correlationId)
        : await parts.sessions.end(of, "admin", correlationId, own);
      if (ended.length === 0) throw new Problem("not_found");
      return reply(endSessionsOf, { sessions_ended: ended.length }, isOwn ? { headers: { "set-cookie": parts.cookies.clearSid() } } : {});
    },
  };
};
