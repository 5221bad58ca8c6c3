import { Problem } from "#contract/problem.ts";

/** Who asks: made from a checked access token (or, at the gateway, from a session). */
export interface Caller {
  /** Identity node id, or the client id of a service (`service:crud`). */
  readonly sub: string;
  /** Tenant id; `*` only for house services. */
  readonly tenant: string;
  readonly scopes: ReadonlySet<string>;
  /** The agent that acts for `sub`: outermost `act.sub` that is an agent. */
  readonly agent?: string;
  /** All of `act`, outermost first. */
  readonly actors: readonly string[];
  readonly clientId?: string;
  /** `strong` or `phishing_resistant`, if the sign-in was. */
  readonly acr?: string;
  readonly amr: readonly string[];
  /** Seconds since 1970 of the sign-in. */
  readonly authTime?: number;
  readonly issuer: string;
  /** True: the token is signed by a key of this house for one of its own services (`sub` begins with `service:`). */
  readonly isHouseService: boolean;
  /** True: a service of the house signed it for this one call, for itself or for whom it serves; that service minds how long those may stay. */
  readonly isHouseCall?: boolean;
  /** The token as it came; for passing on. Never logged. */
  readonly token: string;
  /** Seconds since 1970. */
  readonly expiresAt: number;
}

/** Any one of the scopes is enough; none named = none needed. */
export const requireScope = (caller: Pick<Caller, "scopes">, scopes: readonly string[]): void => {
  if (scopes.length === 0 || scopes.some((scope) => caller.scopes.has(scope))) return;
  throw new Problem("insufficient_scope", {
    detail: `Needs ${scopes.join(" or ")}.`,
    headers: { "www-authenticate": `Bearer error="insufficient_scope", scope="${scopes.join(" ")}"` },
  });
};

/** True when the sign-in was strong and at most `maxAgeSeconds` ago. Without `auth_time` a sign-in is never fresh. */
export const isFreshlyStrong = (caller: Pick<Caller, "acr" | "authTime">, now: Date, maxAgeSeconds = 300): boolean =>
  (caller.acr === "strong" || caller.acr === "phishing_resistant") &&
  caller.authTime !== undefined &&
  now.getTime() / 1000 - caller.authTime <= maxAgeSeconds;
