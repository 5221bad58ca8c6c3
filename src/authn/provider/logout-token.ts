import { decodeJwt, decodeProtectedHeader, errors, jwtVerify, type JWTPayload } from "jose";
import { z } from "zod";
import { Problem } from "#contract/problem.ts";
import type { Metrics } from "#telemetry/metrics.ts";
import { ALGORITHMS, FORBIDDEN_HEADERS } from "#authn/model/access-token.ts";
import { countEnd } from "#authn/model/count-end.ts";
import type { TrustedIssuer } from "./issuer-keys.ts";

/** What the provider says has ended: one of its sessions, or all of one person. */
export interface LogoutToken {
  readonly issuer: string;
  readonly sid?: string;
  readonly sub?: string;
  readonly jti: string;
  /** After this moment it would be refused as too old. */
  readonly tooOldAt: Date;
}

const EVENT = "http://schemas.openid.net/event/backchannel-logout";
const AGE_SECONDS = 120;
const TYPES: ReadonlySet<string> = new Set(["logout+jwt", "application/logout+jwt", "jwt"]);
const MAX_BYTES = 8192;

const name = z.string().min(1).max(256);
const claims = z
  .object({
    iat: z.number(),
    jti: name,
    sid: name.optional(),
    sub: name.optional(),
    events: z.object({ [EVENT]: z.looseObject({}) }),
  })
  .refine(({ sid, sub }) => sid !== undefined || sub !== undefined, "names neither a session nor a person");

const refuse = (detail: string, cause?: unknown): Problem => new Problem("invalid_request", { detail, cause });

/**
 * Checks a logout token of OpenID Connect Back-Channel Logout 1.0: the provider's key, issuer, our client as audience, at
 * most two minutes old, unexpired, the logout event, no nonce. Whether it was used before is for the caller to know.
 * Throws `invalid_request` (400), `identity_provider_unavailable` (503).
 */
export const createLogoutTokenCheck = (parts: {
  readonly issuer: TrustedIssuer;
  readonly clientId: string;
  readonly now: () => Date;
  readonly metrics: Metrics;
}): ((token: string) => Promise<LogoutToken>) => {
  const check = async (token: string): Promise<LogoutToken> => {
    if (token.length > MAX_BYTES) throw refuse("The token is too long.");
    let payload: JWTPayload;
    try {
      const header = decodeProtectedHeader(token);
      const isTyped = header.typ === undefined || TYPES.has(header.typ.toLowerCase());
      if (!isTyped || FORBIDDEN_HEADERS.some((member) => Object.hasOwn(header, member))) throw refuse("Its header is not accepted.");
      if (decodeJwt(token).iss !== parts.issuer.issuer) throw refuse("Its issuer is not accepted.");
      payload = (
        await jwtVerify(token, (head, input) => parts.issuer.keys(head, input), {
          algorithms: [...ALGORITHMS],
          issuer: parts.issuer.issuer,
          audience: parts.clientId,
          currentDate: parts.now(),
          clockTolerance: 0,
          requiredClaims: ["iat", "exp", "jti", "events"],
        })
      ).payload;
    } catch (cause) {
      if (cause instanceof Problem) throw cause;
      throw refuse(cause instanceof errors.JWTExpired ? "It has expired." : "It does not verify here.", cause);
    }
    if (Object.hasOwn(payload, "nonce")) throw refuse("It has a nonce: it is an ID token.");
    const read = claims.safeParse(payload);
    if (!read.success) throw refuse("It is no logout token.");
    const age = parts.now().getTime() / 1000 - read.data.iat;
    if (Math.abs(age) > AGE_SECONDS) throw refuse("It was not issued just now.");
    const { iat, jti, sid, sub } = read.data;
    return { issuer: parts.issuer.issuer, jti, tooOldAt: new Date((iat + AGE_SECONDS) * 1000), sid, sub };
  };
  const count = (status: string) => parts.metrics.count("bff_token_validation_total", { token_type: "logout_token", status });
  return (token) => countEnd(count, () => check(token));
};
