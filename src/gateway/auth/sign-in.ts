import { z } from "zod";
import { satisfies, type Assurance } from "#authn/model/assurance.ts";
import { asProblem, problemResponse } from "#http/problem-body.ts";
import { Problem } from "#contract/problem.ts";
import type { BuiltInHandler } from "#gateway/steps/built-in.ts";
import { requireOrigin, type Inbound } from "#gateway/model/inbound.ts";
import type { GatewayParts } from "#gateway/model/gateway-parts.ts";
import { problemPage, wantsHtml } from "#gateway/model/plain-page.ts";
import { clientOf } from "#gateway/steps/recognise.ts";
import { redirect } from "#gateway/model/reply.ts";
import type { SessionCookies } from "#gateway/sessions/session-cookies.ts";
import { hashSid, isSid } from "#gateway/sessions/session-id.ts";
import type { SessionRecords } from "#gateway/sessions/session-records.ts";
import type { Sessions } from "#gateway/sessions/sessions.ts";
import { parseQuery } from "./query.ts";
import { parseReturnTo } from "./return-to.ts";
import type { SignInTransaction, Transactions } from "./transaction.ts";

export interface SignInParts extends Pick<GatewayParts, "oidc" | "now" | "metrics" | "log"> {
  readonly sessions: Sessions;
  readonly records: SessionRecords;
  readonly cookies: SessionCookies;
  readonly transactions: Transactions;
  /** Services outside that the session's token is to be for. */
  readonly audiences: () => readonly string[];
  /** Throws `session_store_unavailable` when no session could be kept now. */
  readonly requireStore: () => Promise<void>;
  readonly isFirstUse: (kind: "transaction", id: string, expiresAt: Date) => Promise<boolean>;
}

const assurances = z
  .string()
  .regex(/^(?:strong|phishing_resistant)(?: (?:strong|phishing_resistant))*$/, "must be strong or phishing_resistant");

const loginQuery = z.strictObject({
  return_to: z.string().default("/"),
  acr_values: assurances.optional(),
  max_age: z
    .string()
    .regex(/^[0-9]{1,6}$/, "must be seconds")
    .transform(Number)
    .optional(),
  prompt: z.enum(["login", "none"]).optional(),
  login_hint: z
    .string()
    .regex(/^[\x20-\x7e]{1,256}$/, "must be 1-256 printable characters")
    .optional(),
});

/** Of several that would do, the least is what must be met. */
const least = (values: string | undefined): Assurance | undefined => {
  const asked = (values?.split(" ") ?? []) as Assurance[];
  return asked.find((one) => asked.every((other) => satisfies(other, one)));
};

/** Hash of the session that the browser holds now, living or not. */
const heldSession = (cookies: SessionCookies, inbound: Inbound): string | undefined => {
  const sid = cookies.readSid(inbound.headers.get("cookie"));
  return sid.kind === "one" && isSid(sid.value) ? hashSid(sid.value) : undefined;
};

/** `GET /auth/login`: sends the browser to the identity provider, with what must come back sealed in a cookie. */
export const createLogin = (parts: SignInParts): BuiltInHandler => {
  const begin = async (inbound: Inbound): Promise<Response> => {
    const query = parseQuery(loginQuery, inbound.target.query);
    const redirectUri = `${requireOrigin(inbound)}/auth/callback`;
    const returnTo = parseReturnTo(query.return_to);
    // Nobody should give a password for a session that could not begin.
    await parts.requireStore();
    const begun = await parts.oidc.begin({
      redirectUri,
      audiences: parts.audiences(),
      acrValues: query.acr_values,
      maxAge: query.max_age,
      prompt: query.prompt,
      loginHint: query.login_hint,
    });
    const assurance = least(query.acr_values);
    const replaces = heldSession(parts.cookies, inbound);
    const sealed = await parts.transactions.seal({
      state: begun.state,
      nonce: begun.nonce,
      verifier: begun.verifier,
      return_to: returnTo,
      redirect_uri: redirectUri,
      flow: query.acr_values === undefined && query.max_age === undefined ? "login" : "step_up",
      assurance,
      max_age: query.max_age,
      replaces,
    });
    return redirect(302, begun.url, [parts.cookies.setTxn(sealed)]);
  };
  return async ({ inbound }) => {
    try {
      return await begin(inbound);
    } catch (error) {
      if (!wantsHtml(inbound)) throw error;
      const problem = asProblem(error);
      parts.log.warn("login_not_begun", {
        correlation_id: inbound.correlationId,
        code: problem.code,
        cause: problem.options.cause ?? problem,
      });
      // A query that cannot be read would not be read better a second time.
      const isWorthRepeating = problem.status >= 500;
      const way = isWorthRepeating
        ? { href: inbound.target.path + inbound.target.query, text: "Try again" }
        : { href: "/", text: "Go to the start page" };
      return problemPage(problem, inbound.correlationId, way);
    }
  };
};

/**
 * `GET /auth/callback`: the browser is back. Every sign-in gives a new session id; the session it replaces, if any, ends
 * in the same step. A transaction counts once, and only in the browser that began it.
 */
export const createCallback = (parts: SignInParts): BuiltInHandler => {
  const parseTransaction = async (inbound: Inbound): Promise<SignInTransaction> => {
    const cookie = parts.cookies.readTxn(inbound.headers.get("cookie"));
    const transaction = cookie.kind === "one" ? await parts.transactions.open(cookie.value) : undefined;
    if (transaction === undefined) throw new Problem("login_failed", { detail: "This browser has no sign-in under way." });
    if (new URL(transaction.redirect_uri).origin !== requireOrigin(inbound)) throw new Problem("login_failed");
    if (!(await parts.isFirstUse("transaction", transaction.jti, new Date(transaction.exp * 1000))))
      throw new Problem("login_failed", { detail: "This sign-in was used already." });
    return transaction;
  };

  const finish = async (inbound: Inbound, transaction: SignInTransaction): Promise<Response> => {
    const who = await parts.oidc.finish({
      currentUrl: new URL(`${transaction.redirect_uri}${inbound.target.query}`),
      state: transaction.state,
      nonce: transaction.nonce,
      verifier: transaction.verifier,
      assurance: transaction.assurance,
      maxAge: transaction.max_age,
    });
    const { sid, record } = await parts.sessions.begin(who, clientOf(inbound), {
      correlationId: inbound.correlationId,
      isStepUp: transaction.flow === "step_up",
      replaces: [transaction.replaces, heldSession(parts.cookies, inbound)].filter((hash) => hash !== undefined),
    });
    const seconds = Math.max(0, parts.now().getTime() / 1000 - transaction.iat);
    parts.metrics.observe("bff_oauth_flow_duration_seconds", { flow_type: transaction.flow }, seconds);
    parts.log.info("signin_completed", {
      flow: transaction.flow,
      session_ref: record.ref,
      tenant: record.tenant,
      correlation_id: inbound.correlationId,
    });
    return redirect(303, transaction.return_to, [parts.cookies.setSid(sid), parts.cookies.clearTxn()]);
  };

  return async ({ inbound }) => {
    let transaction: SignInTransaction | undefined;
    try {
      transaction = await parseTransaction(inbound);
      return await finish(inbound, transaction);
    } catch (error) {
      const problem = asProblem(error);
      parts.log.warn("signin_failed", { code: problem.code, correlation_id: inbound.correlationId, cause: problem.options.cause });
      if (transaction !== undefined && problem.status < 500)
        await parts.records.failed(problem.code, clientOf(inbound), inbound.correlationId);
      const again = transaction === undefined ? "/auth/login" : `/auth/login?return_to=${encodeURIComponent(transaction.return_to)}`;
      const response = wantsHtml(inbound)
        ? problemPage(problem, inbound.correlationId, { href: again, text: "Sign in again" })
        : problemResponse(problem, inbound.correlationId);
      // A transaction that could not be asked about is unspent: the same page may be loaded again.
      if (transaction !== undefined || problem.status < 500) response.headers.append("set-cookie", parts.cookies.clearTxn());
      return response;
    }
  };
};
