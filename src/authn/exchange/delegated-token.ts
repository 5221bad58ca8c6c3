import type { JWTPayload } from "jose";
import { Problem } from "#contract/problem.ts";
import type { Caller } from "#authn/model/caller.ts";
import { actOf } from "#authn/keys/service-call.ts";
import { oneOf, OAuthError } from "#authn/model/oauth-error.ts";
import { isInternalAudience } from "#authn/model/resource-indicator.ts";

export const EXCHANGE_GRANT = "urn:ietf:params:oauth:grant-type:token-exchange";
export const ACCESS_TOKEN_TYPE = "urn:ietf:params:oauth:token-type:access_token";
const JWT_TYPE = "urn:ietf:params:oauth:token-type:jwt";
const LIFE_SECONDS = 900;

/** Parameters of RFC 8693 2.1 as our two token endpoints take them. */
export interface ExchangeAsk {
  readonly subjectToken: string;
  /** Logical or physical targets; empty = all of Sallyport. */
  readonly audiences: readonly string[];
  /** `undefined` = all that both sides may have. */
  readonly scopes: readonly string[] | undefined;
}

export const exchangeParameters = [
  "subject_token",
  "subject_token_type",
  "requested_token_type",
  "actor_token",
  "actor_token_type",
  "audience",
  "resource",
  "scope",
] as const;

const isTokenType = (type: string | undefined): boolean => type === ACCESS_TOKEN_TYPE || type === JWT_TYPE;

/** Reads the form's exchange part. `all` gives every value of a name: targets may be several, nothing else may. */
export const parseExchange = (all: (name: string) => readonly string[]): ExchangeAsk => {
  const one = (name: (typeof exchangeParameters)[number]): string | undefined => oneOf(all(name), name) || undefined;
  const subjectToken = one("subject_token");
  if (subjectToken === undefined) throw new OAuthError("invalid_request", "subject_token is missing");
  if (!isTokenType(one("subject_token_type"))) throw new OAuthError("invalid_request", `subject_token_type must be ${ACCESS_TOKEN_TYPE}`);
  const requested = one("requested_token_type");
  if (requested !== undefined && !isTokenType(requested)) throw new OAuthError("invalid_request", "only access tokens are issued");
  if (one("actor_token") !== undefined || one("actor_token_type") !== undefined)
    throw new OAuthError("invalid_request", "the actor is the client itself; send no actor_token");
  const scope = one("scope");
  return {
    subjectToken,
    audiences: [...all("audience"), ...all("resource")].filter((value) => value !== ""),
    scopes: scope?.split(" ").filter((value) => value !== ""),
  };
};

export interface DelegationRules {
  /** The agent that the client is. */
  readonly agent: string;
  /** Where the agent belongs to a tenant: it acts for nobody of another. */
  readonly tenant?: string | undefined;
  /** Most that this agent's tokens may carry. */
  readonly agentScopes: readonly string[];
  /** All of Sallyport: what an access token may name. */
  readonly audiences: readonly string[];
  readonly now: Date;
}

export interface DelegatedToken {
  readonly claims: JWTPayload;
  readonly scopes: readonly string[];
  readonly audiences: readonly string[];
  readonly lifeSeconds: number;
}

/** Checks a subject token with the resource server's own check; its refusal is the client's `invalid_grant`. */
export const parseSubjectToken = async (check: (token: string) => Promise<Caller>, token: string): Promise<Caller> => {
  try {
    return await check(token);
  } catch (error) {
    if (error instanceof Problem && error.status === 503)
      throw new OAuthError("temporarily_unavailable", "The issuer of the subject token does not answer.", error);
    if (error instanceof Problem) throw new OAuthError("invalid_grant", `subject_token: ${error.options.detail ?? error.title}`, error);
    throw error;
  }
};

/**
 * What a token says that Sallyport's own client asks for in somebody's name, for a service outside: the same subject, the
 * same actors, no wider, and for that service alone. Services of Sallyport are not to be had so: to them Sallyport signs.
 */
export const passOn = (
  subject: Caller,
  ask: ExchangeAsk,
  rules: { readonly internalAudiences: readonly string[]; readonly now: Date },
): DelegatedToken => {
  if (subject.sub.startsWith("service:") || subject.tenant === "*" || subject.isServiceCall === true)
    throw new OAuthError("invalid_grant", "subject_token: it is not a person's");
  const [audience, ...more] = ask.audiences;
  if (audience === undefined || more.length > 0 || isInternalAudience(rules.internalAudiences, audience))
    throw new OAuthError("invalid_target", "name one audience, outside this deployment");
  const wider = ask.scopes?.filter((scope) => !subject.scopes.has(scope)) ?? [];
  if (wider.length > 0) throw new OAuthError("invalid_scope", `beyond the subject token: ${wider.join(" ")}`);
  return inNameOf(subject, actOf(subject.actors), ask.scopes ?? [...subject.scopes], [audience], rules.now);
};

/** A token in somebody's name. No exchange changes who they are and how they signed in, and none lives longer than what it is made of. */
const inNameOf = (
  subject: Caller,
  act: JWTPayload | undefined,
  scopes: readonly string[],
  audiences: readonly string[],
  now: Date,
): DelegatedToken => {
  const left = subject.expiresAt - Math.floor(now.getTime() / 1000);
  if (left <= 0) throw new OAuthError("invalid_grant", "subject_token: It has expired.");
  const { sub, tenant, acr, authTime: auth_time } = subject;
  const amr = subject.amr.length === 0 ? {} : { amr: [...subject.amr] };
  return { scopes, audiences, lifeSeconds: Math.min(LIFE_SECONDS, left), claims: { sub, tenant, acr, ...amr, auth_time, act } };
};

/**
 * What an agent's token for a person says: the person's `sub`, tenant and sign-in stay, `act.sub` is the agent; scopes
 * and life are never beyond the subject token's. Whether the person delegated anything is decided at each call, not here.
 * Only a token of the person's own is taken: passing a delegation on to a further agent is not offered.
 */
export const delegate = (subject: Caller, ask: ExchangeAsk, rules: DelegationRules): DelegatedToken => {
  if (subject.sub.startsWith("service:") || subject.tenant === "*")
    throw new OAuthError("invalid_grant", "subject_token: services do not delegate");
  if (subject.isServiceCall === true) throw new OAuthError("invalid_grant", "subject_token: it was made for one call inside Sallyport");
  if (subject.agent !== undefined || subject.actors.length > 0)
    throw new OAuthError("invalid_grant", "subject_token: it is an agent's already; exchange the person's own token");
  if (rules.tenant !== undefined && subject.tenant !== rules.tenant)
    throw new OAuthError("invalid_grant", "subject_token: the person is of another tenant than this agent");
  const ceiling = new Set(rules.agentScopes.filter((scope) => subject.scopes.has(scope)));
  const wider = ask.scopes?.filter((scope) => !ceiling.has(scope)) ?? [];
  if (wider.length > 0) throw new OAuthError("invalid_scope", `beyond the subject token or this agent: ${wider.join(" ")}`);
  const scopes = ask.scopes ?? [...ceiling];
  const foreign = ask.audiences.filter((audience) => !isInternalAudience(rules.audiences, audience));
  if (foreign.length > 0) throw new OAuthError("invalid_target", `this deployment has ${rules.audiences.join(" ")}`);
  const audiences = ask.audiences.length === 0 ? rules.audiences : [...new Set(ask.audiences)];
  return inNameOf(subject, { sub: rules.agent }, scopes, audiences, rules.now);
};
