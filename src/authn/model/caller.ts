import { Problem } from "#contract/problem.ts";
import { satisfies, type Assurance } from "./assurance.ts";

/** Who asks: made from a checked access token (or, at the gateway, from a session). */
export interface Caller {
  /** Identity node id, or the client id of a service (`service:crud`). */
  readonly sub: string;
  /** Tenant id; `*` only for internal services. */
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
  /** True: the token is signed by a key of this deployment for one of its own services (`sub` begins with `service:`). */
  readonly isInternalService: boolean;
  /** True: a service of Sallyport signed it for this one call, for itself or for whom it serves; that service minds how long those may stay. */
  readonly isServiceCall?: boolean;
  /** The service of the deployment that signed it for this one call. */
  readonly calledBy?: string;
  /** The token as it came; for passing on. Never logged. */
  readonly token: string;
  /** Seconds since 1970. */
  readonly expiresAt: number;
}

/** Whose share of large bodies a request counts to; Sallyport's own services, which speak for all, have none. */
export const bodyShareOf = (caller: Pick<Caller, "sub" | "tenant" | "isInternalService">): string | undefined =>
  caller.isInternalService ? undefined : `${caller.tenant} ${caller.sub}`;

/** Whose keys of writes that may be sent again are: two agents of one person, or the person itself, do not share them. */
export const keyHolderOf = ({ sub, agent }: Pick<Caller, "sub" | "agent">): string => JSON.stringify([sub, agent ?? null]);

/** Any one of the scopes is enough; none named = none needed. */
export const requireScope = (caller: Pick<Caller, "scopes">, scopes: readonly string[]): void => {
  if (scopes.length === 0 || scopes.some((scope) => caller.scopes.has(scope))) return;
  throw new Problem("insufficient_scope", {
    detail: `Needs ${scopes.join(" or ")}.`,
    headers: { "www-authenticate": `Bearer error="insufficient_scope", scope="${scopes.join(" ")}"` },
  });
};

/** How somebody must have signed in: at least so well, and at most so many seconds ago. */
export interface SignInDemand {
  readonly level: Assurance;
  readonly maxAgeSeconds: number;
}

/** What a sign-in must be where nothing else is said; policies know it as `context.mfa`. */
export const strongSignIn: SignInDemand = { level: "strong", maxAgeSeconds: 300 };

/** A sign-in from the future is a wrong clock or a forged claim; this much of it may be the clock. */
const CLOCK_SKEW_SECONDS = 60;

/** True when the sign-in was as good and as fresh as that. Without `auth_time` it is never fresh, nor from the future. */
export const hasSignIn = (
  { acr, authTime }: Pick<Caller, "acr" | "authTime">,
  { level, maxAgeSeconds }: SignInDemand,
  now: Date,
): boolean => {
  if (authTime === undefined || !satisfies(acr, level)) return false;
  const age = now.getTime() / 1000 - authTime;
  return age <= maxAgeSeconds && age >= -CLOCK_SKEW_SECONDS;
};

const MAX_TIMER_MS = 2_147_483_647;

/** After how many milliseconds what a token opened ends with it; `undefined`: a service of the deployment minds how long it may stay. */
export const endsInMs = ({ isServiceCall, expiresAt }: Pick<Caller, "isServiceCall" | "expiresAt">, now: Date): number | undefined =>
  isServiceCall === true ? undefined : Math.min(Math.max(0, expiresAt * 1000 - now.getTime()), MAX_TIMER_MS);
