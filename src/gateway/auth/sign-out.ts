import { z } from "zod";
import { logout, logoutBody, signOutQuery } from "#contract/session.ts";
import { Problem } from "#contract/problem.ts";
import type { BuiltInHandler } from "#gateway/steps/built-in.ts";
import type { Steps } from "#gateway/steps/steps.ts";
import type { Inbound } from "#gateway/model/inbound.ts";
import type { GatewayParts } from "#gateway/model/gateway-parts.ts";
import { readJson } from "#gateway/model/read-body.ts";
import { redirect, reply } from "#gateway/model/reply.ts";
import type { SessionCookies } from "#gateway/sessions/session-cookies.ts";
import type { SessionRecord } from "#gateway/sessions/session-store.ts";
import type { Sessions } from "#gateway/sessions/sessions.ts";
import { parseQuery } from "./query.ts";

export interface SignOutParts extends Pick<Steps, "recogniser" | "csrf">, Pick<GatewayParts, "oidc" | "metrics"> {
  readonly sessions: Sessions;
  readonly cookies: SessionCookies;
  /** Where the provider sends the browser afterwards, below the public origin addressed. */
  readonly postLogoutPath: string;
}

const linkQuery = signOutQuery.extend({ csrf: z.string().optional() });

/** The session of the cookie; `undefined` when there is none that lives. A store that is down is no sign-out. */
const sessionOf = async (parts: SignOutParts, inbound: Inbound): Promise<SessionRecord | undefined> => {
  try {
    return (await parts.recogniser.session(inbound)).record;
  } catch (error) {
    if (error instanceof Problem && error.status === 401) return undefined;
    throw error;
  }
};

/** Where the browser goes to end what it has at the provider; that may live though its session here does not. */
const endSessionUrlOf = (parts: SignOutParts, inbound: Inbound): Promise<string | undefined> =>
  // No id_token_hint: it would be a token in the browser. The provider knows the client by its id and may ask the person.
  parts.oidc.endSessionUrl({ postLogoutRedirectUri: inbound.origin && `${inbound.origin}${parts.postLogoutPath}` });

const endAll = async (parts: SignOutParts, inbound: Inbound, record: SessionRecord, everywhere: boolean) => {
  const started = performance.now();
  const which = everywhere
    ? { tenant: record.tenant, subject: record.subject }
    : { tenant: record.tenant, subject: record.subject, ref: record.ref };
  const ended = await parts.sessions.end(which, everywhere ? "everywhere" : "logout", inbound.correlationId);
  const endSessionUrl = await endSessionUrlOf(parts, inbound);
  parts.metrics.observe("bff_oauth_flow_duration_seconds", { flow_type: "logout" }, (performance.now() - started) / 1000);
  return { count: ended.length, endSessionUrl };
};

/** `POST /auth/logout`: ends this session, or all of the person's. Without a session there is nothing to refuse. */
export const createSignOut = (parts: SignOutParts): BuiltInHandler => {
  return async ({ inbound }) => {
    // A strict cookie stays away from a foreign page's request: its answer must not clear it either.
    parts.csrf.guardOrigin(inbound);
    const record = await sessionOf(parts, inbound);
    const headers = { "set-cookie": parts.cookies.clearSid() };
    if (record !== undefined) parts.csrf.guard(inbound, record);
    const query = parseQuery(signOutQuery, inbound.target.query);
    const body = await readJson(inbound, logoutBody);
    const { count, endSessionUrl } =
      record === undefined
        ? { count: 0, endSessionUrl: await endSessionUrlOf(parts, inbound) }
        : await endAll(parts, inbound, record, query.everywhere ?? body?.everywhere ?? false);
    return reply(logout, { logged_out: true, sessions_ended: count, end_session_url: endSessionUrl }, { headers });
  };
};

/** `GET /auth/logout`: the same for a link on our own page, and on to the provider's sign-out. */
export const createSignOutLink = (parts: SignOutParts): BuiltInHandler => {
  return async ({ inbound }) => {
    const query = parseQuery(linkQuery, inbound.target.query);
    const record = await sessionOf(parts, inbound);
    parts.csrf.guardLink(inbound, record, query.csrf, "Sign out from this site's own page.");
    const endSessionUrl =
      record === undefined
        ? await endSessionUrlOf(parts, inbound)
        : (await endAll(parts, inbound, record, query.everywhere ?? false)).endSessionUrl;
    return redirect(303, endSessionUrl ?? parts.postLogoutPath, [parts.cookies.clearSid()]);
  };
};
