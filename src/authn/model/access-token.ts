import { decodeJwt, decodeProtectedHeader, type JWTPayload, type ProtectedHeaderParameters } from "jose";
import { Problem } from "#contract/problem.ts";

/** Asymmetric ones alone: no `none`, and no secret that a verifier could sign with. */
export const ALGORITHMS: readonly string[] = ["ES256", "EdDSA", "PS256", "RS256"];
const TYPES: readonly string[] = ["at+jwt", "application/at+jwt", "jwt"];
/** A token may not carry or point to its own key, nor demand extensions. */
export const FORBIDDEN_HEADERS = ["jku", "x5u", "jwk", "x5c", "crit", "b64", "zip"] as const;
/** Claims of ID tokens and logout tokens, which are no access tokens whatever their type says. */
const FOREIGN_CLAIMS = ["nonce", "at_hash", "c_hash", "s_hash", "events"] as const;
const MAX_TOKEN_BYTES = 8192;

/** 401 of a token that came but is not good here. */
export const invalidToken = (detail: string, cause?: unknown): Problem =>
  new Problem("invalid_token", {
    detail,
    headers: { "www-authenticate": 'Bearer error="invalid_token"' },
    cause,
  });

/** The token of `Authorization: Bearer ...`; never of a query or a body. Throws `unauthenticated` without one. */
export const parseBearer = (request: Request): string => {
  const header = request.headers.get("authorization");
  if (header === null) throw new Problem("unauthenticated", { headers: { "www-authenticate": "Bearer" } });
  const token = /^Bearer +([A-Za-z0-9._~+/-]+=*)$/i.exec(header)?.[1];
  if (token === undefined || token.length > MAX_TOKEN_BYTES) throw invalidToken("Send one bearer token.");
  return token;
};

export interface TokenHead {
  readonly header: ProtectedHeaderParameters;
  /** What it says of its issuer; believed only when that issuer's key has verified it. */
  readonly issuer: unknown;
}

/** Header and issuer of a token that may be looked at further: its algorithm, type and header members are ones we take. */
export const parseTokenHead = (token: string): TokenHead => {
  let head: TokenHead;
  try {
    head = { header: decodeProtectedHeader(token), issuer: decodeJwt(token).iss };
  } catch (cause) {
    throw invalidToken("It is no signed token.", cause);
  }
  const { header } = head;
  if (FORBIDDEN_HEADERS.some((name) => Object.hasOwn(header, name))) throw invalidToken("Its header names keys or extensions.");
  if (typeof header.alg !== "string" || !ALGORITHMS.includes(header.alg)) throw invalidToken("Its algorithm is not accepted.");
  if (typeof header.typ !== "string" || !TYPES.includes(header.typ.toLowerCase())) throw invalidToken("It is no access token.");
  return head;
};

/** RFC 9068 names access tokens by their type; of a plain JWT the claims must show that it is one. */
export const requireAccessToken = (header: ProtectedHeaderParameters, claims: JWTPayload): void => {
  if (FOREIGN_CLAIMS.some((name) => Object.hasOwn(claims, name))) throw invalidToken("It is no access token.");
  if (header.typ?.toLowerCase() !== "jwt") return;
  const kind = claims["typ"];
  const isOther = typeof kind === "string" && kind.toLowerCase() !== "bearer";
  if (isOther || !["scope", "scp", "client_id"].some((name) => Object.hasOwn(claims, name))) throw invalidToken("It is no access token.");
};
