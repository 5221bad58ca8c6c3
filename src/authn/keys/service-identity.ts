import type { Caller } from "#authn/model/caller.ts";

/**
 * How one service of Sallyport speaks to another: a signed 60 s JWT (EdDSA, typ `at+jwt`). Each service has its
 * own key; the gateway's and crud's may speak for persons, the others only for themselves. `service-keys.ts` makes it.
 */
export interface ServiceIdentity {
  /** e.g. `service:crud`. */
  readonly clientId: string;
  /** A token of this service itself for another: `sub` = client id, tenant `*`, the scopes asked. */
  asService(audience: string, scopes: readonly string[]): Promise<string>;
  /** A token for another service on behalf of a caller; only for services that may speak for persons. */
  onBehalfOf(audience: string, subject: OnBehalfOf): Promise<string>;
}

/** What of a caller a token says that is made for somebody else. */
export interface OnBehalfOf
  extends Pick<Caller, "sub" | "tenant" | "clientId" | "acr" | "authTime">, Partial<Pick<Caller, "actors" | "amr">> {
  readonly scopes: Iterable<string>;
}

/** Checks a bearer token for one service: signature, issuer, audience, expiry, type. Throws `unauthenticated` or `invalid_token`. */
export type VerifyBearer = (request: Request) => Promise<Caller>;
