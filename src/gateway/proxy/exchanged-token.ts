import { isDeepStrictEqual } from "node:util";
import { decodeJwt, type JWTPayload } from "jose";
import { readScopes } from "#authn/model/claims.ts";
import type { ProviderTokens } from "#authn/provider/oidc-client.ts";
import { isInternalAudience } from "#authn/model/resource-indicator.ts";
import { Problem } from "#contract/problem.ts";

/** What a token for an upstream was asked to be. */
export interface TokenWish {
  readonly audience: string;
  /** `undefined`: what the subject's token has. */
  readonly scopes: readonly string[] | undefined;
  /** A token for an upstream never names these. */
  readonly internalAudiences: readonly string[];
}

/** Whose token it must stay. */
export interface TokenSubject {
  readonly token: string;
  /** Identity as Sallyport knows it, and how it is made of a provider's claims: for a subject token that says nothing. */
  readonly sub: string;
  readonly isAgent: boolean;
  readonly subjectOf: (claims: JWTPayload) => string | undefined;
}

const refuse = (why: string): never => {
  throw new Problem("upstream_auth_failed", { cause: new Error(why) });
};

/** Claims of a signed token, unverified; `undefined` for one that is not for us to read. */
export const readClaims = (token: string): JWTPayload | undefined => {
  try {
    return decodeJwt(token);
  } catch {
    return undefined;
  }
};

export const audiencesOf = (claims: JWTPayload): readonly string[] =>
  claims.aud === undefined ? [] : typeof claims.aud === "string" ? [claims.aud] : claims.aud;

const guardScopes = (tokens: ProviderTokens, claims: JWTPayload | undefined, allowed: ReadonlySet<string>): void => {
  const said = [...(tokens.scope?.split(" ") ?? []), ...(claims === undefined ? [] : readScopes(claims))].filter((scope) => scope !== "");
  const wider = said.filter((scope) => !allowed.has(scope));
  if (wider.length > 0) refuse(`the provider gave more than was asked: ${wider.join(" ")}`);
};

const guardAudience = (claims: JWTPayload, wish: TokenWish): void => {
  const audiences = audiencesOf(claims);
  if (!audiences.includes(wish.audience)) refuse("the provider's token is for another audience");
  if (audiences.some((audience) => isInternalAudience(wish.internalAudiences, audience)))
    refuse("the provider's token is good inside Sallyport too");
};

/**
 * Refuses an exchanged token that is not what was asked: for this audience and none of Sallyport, no wider, of the same
 * subject and the same actors. One that cannot be read cannot be checked. Throws `upstream_auth_failed`.
 */
export const guardExchanged = (tokens: ProviderTokens, wish: TokenWish, subject: TokenSubject): void => {
  const claims = readClaims(tokens.accessToken);
  if (claims === undefined) return refuse("the provider's token cannot be read");
  guardAudience(claims, wish);
  const before = readClaims(subject.token);
  guardScopes(tokens, claims, new Set(wish.scopes ?? (before === undefined ? [] : readScopes(before))));
  const isSameSubject =
    before === undefined ? subject.subjectOf(claims) === subject.sub : before.sub !== undefined && claims.sub === before.sub;
  if (!isSameSubject) refuse("the provider's token is somebody else's");
  const isSameActor =
    before === undefined ? !subject.isAgent && claims["act"] === undefined : isDeepStrictEqual(claims["act"], before["act"]);
  if (!isSameActor) refuse("the provider's token has other actors");
};

/** The same of a token for the gateway itself; one that is not for us to read is the upstream's to judge. */
export const guardOwn = (tokens: ProviderTokens, wish: TokenWish): void => {
  const claims = readClaims(tokens.accessToken);
  if (claims !== undefined) guardAudience(claims, wish);
  if (wish.scopes !== undefined) guardScopes(tokens, claims, new Set(wish.scopes));
};
