import { createHash } from "node:crypto";
import type { JWTPayload } from "jose";
import { Problem } from "#contract/problem.ts";
import { invalidToken } from "#authn/model/access-token.ts";
import type { Introspector } from "./introspection.ts";
import { createTtlCache } from "#http/ttl-cache.ts";

/** How long an answer of the issuer is believed, from when it was asked: so long a token may outlive its revocation. */
const KEPT_MS = 30_000;
const MAX_KEPT = 2000;
const AHEAD_SECONDS = 60;

/** True for a token that does not begin with a JSON header: what calls itself a JWT is only ever checked as one. */
export const isOpaque = (token: string): boolean => {
  const [head = ""] = token.split(".", 1);
  try {
    const header: unknown = JSON.parse(Buffer.from(head, "base64url").toString("utf8"));
    return typeof header !== "object" || header === null;
  } catch {
    return true;
  }
};

const seconds = (value: unknown): number | undefined => (typeof value === "number" && Number.isFinite(value) ? value : undefined);

/**
 * The claims of an active token, once they say what a signed one would have to: an access token to be borne, of this
 * issuer, for one of these audiences, in its time. What they leave out is not taken for granted.
 */
const requireClaims = (claims: JWTPayload, wanted: { issuer: string; audience: readonly string[]; now: Date }): JWTPayload => {
  const { iss, aud, exp, nbf, iat } = claims as Readonly<Record<string, unknown>>;
  const now = wanted.now.getTime() / 1000;
  const type = claims["token_type"];
  const use = claims["token_use"];
  // A refresh token is active too; so is a token that must be shown together with a key.
  if (typeof type !== "string" || type.toLowerCase() !== "bearer" || (use !== undefined && use !== "access_token") || claims["cnf"])
    throw invalidToken("It is no bearer's access token.");
  if (iss !== undefined && iss !== wanted.issuer) throw invalidToken("Its issuer is not accepted.");
  const audiences: readonly unknown[] = Array.isArray(aud) ? aud : [aud];
  if (!audiences.some((one) => typeof one === "string" && wanted.audience.includes(one)))
    throw invalidToken("It is not for this audience.");
  const expiry = seconds(exp);
  if (expiry === undefined) throw invalidToken("It never expires.");
  if (expiry <= now) throw invalidToken("It has expired.");
  if (nbf !== undefined && !((seconds(nbf) ?? Infinity) <= now)) throw invalidToken("It is not valid yet.");
  if (iat !== undefined && !((seconds(iat) ?? Infinity) <= now + AHEAD_SECONDS)) throw invalidToken("It was issued in the future.");
  return { ...claims, iss: wanted.issuer };
};

/**
 * Checks tokens that are no JWT by asking their issuer. An answer is kept for 30 s at most and never past the token's own
 * end, under a hash of token, issuer and audience; equal questions under way are one. Throws `invalid_token` (401), and
 * `identity_provider_unavailable` (503) when the issuer gives no clear answer: then nothing is believed that is not kept.
 */
export const createOpaqueCheck = (parts: {
  readonly introspector: Introspector;
  readonly audience: readonly string[];
  readonly now: () => Date;
}): ((token: string) => Promise<JWTPayload>) => {
  const { introspector, audience, now } = parts;
  const good = createTtlCache<JWTPayload>(MAX_KEPT, now);
  // Apart, so that whoever tries tokens at random drives no good one out.
  const bad = createTtlCache<Problem>(MAX_KEPT, now);
  const underWay = new Map<string, Promise<JWTPayload>>();

  const ask = async (token: string, key: string): Promise<JWTPayload> => {
    const until = now().getTime() + KEPT_MS;
    const claims = await introspector.claimsOf(token);
    try {
      if (claims === undefined) throw invalidToken("It is not known, or no longer good.");
      const checked = requireClaims(claims, { issuer: introspector.issuer, audience, now: now() });
      good.set(key, checked, Math.min(until, (checked.exp ?? 0) * 1000));
      return checked;
    } catch (error) {
      if (error instanceof Problem) bad.set(key, error, until);
      throw error;
    }
  };

  return async (token) => {
    const key = createHash("sha256")
      .update(JSON.stringify([token, introspector.issuer, audience]))
      .digest("base64url");
    const held = good.get(key);
    if (held !== undefined) return held;
    const refused = bad.get(key);
    if (refused !== undefined) throw refused;
    const asked = underWay.get(key) ?? ask(token, key).finally(() => underWay.delete(key));
    underWay.set(key, asked);
    return asked;
  };
};
