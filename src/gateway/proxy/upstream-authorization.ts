import type { ServiceIdentity } from "#authn/keys/service-identity.ts";
import { createHash } from "node:crypto";
import { countEnd } from "#authn/model/count-end.ts";
import type { ProviderTokens } from "#authn/provider/oidc-client.ts";
import { Problem } from "#contract/problem.ts";
import type { GatewayParts } from "#gateway/model/gateway-parts.ts";
import type { Recognised } from "#gateway/steps/recognise.ts";
import type { Route, TokenTarget } from "#gateway/routes/route-table.ts";
import type { SessionKeys } from "#gateway/sessions/session-keys.ts";
import { audiencesOf, guardExchanged, guardOwn, readClaims, type TokenSubject, type TokenWish } from "./exchanged-token.ts";
import { createTokenCache } from "./token-cache.ts";

/** A 60 s token for a service of Sallyport, in the caller's name and never wider than the caller's own. */
export const speakFor = (
  identity: ServiceIdentity,
  who: Somebody,
  { audience, scopes: limit }: { readonly audience: string; readonly scopes?: readonly string[] | undefined },
): Promise<string> => {
  const { principal } = who;
  return identity.onBehalfOf(audience, {
    sub: principal.sub,
    tenant: principal.tenant,
    scopes: limit === undefined ? principal.scopes : [...principal.scopes].filter((scope) => limit.includes(scope)),
    amr: principal.amr,
    actors: who.kind === "bearer" ? who.caller.actors : undefined,
    clientId: principal.clientId,
    acr: principal.acr,
    authTime: principal.authTime,
  });
};

/**
 * The Authorization header for a row's upstream: a service of Sallyport gets a token that the gateway signs for this one call; any other
 * upstream gets none. The scopes of the row's policy, if it has some, are the most it may carry.
 */
const mintAuthorization = async (identity: ServiceIdentity, route: Route, who: Recognised): Promise<string | undefined> => {
  if (who.kind === "none" || route.target.kind !== "service" || !route.target.service.isInternal) return undefined;
  const audience = route.tokenTarget?.audience;
  if (audience === undefined) return undefined;
  return `Bearer ${await speakFor(identity, who, { audience, scopes: route.row.token_policy?.scopes })}`;
};

export interface UpstreamAuthorization {
  /**
   * The Authorization header for a row's upstream; `undefined` where none is sent. Throws `no_token_available` (401),
   * `upstream_auth_failed` (502), `identity_provider_unavailable` (503).
   */
  authorize(route: Route, who: Recognised): Promise<string | undefined>;
  /** A session is over. */
  forget(sessionRef: string): void;
}

type Policy = NonNullable<Route["row"]["token_policy"]>;
type Somebody = Exclude<Recognised, { readonly kind: "none" }>;

/** Tokens for upstreams: Sallyport's own are signed here, those of others are the provider's. */
export const createUpstreamAuthorization = (
  parts: Pick<GatewayParts, "identity" | "oidc" | "now" | "metrics"> & {
    readonly keys: Pick<SessionKeys, "openTokens">;
    /** Audiences of Sallyport's own services and of its public origins. */
    readonly internalAudiences: readonly string[];
  },
): UpstreamAuthorization => {
  const { metrics, now, oidc } = parts;
  const cache = createTokenCache({ now, onExpired: (service) => metrics.count("bff_token_expiry_total", { service }) });

  const none = (who: Recognised, detail: string): Problem =>
    new Problem("no_token_available", { detail, headers: { "www-authenticate": who.kind === "session" ? "Cookie" : "Bearer" } });

  const requireToken = (who: Recognised): string => {
    if (who.kind === "bearer") return who.caller.token;
    if (who.kind === "none") throw none(who, "Nobody is signed in.");
    if (who.record.accessExpiresAt !== undefined && who.record.accessExpiresAt <= now())
      throw none(who, "The session's token has expired; sign in again.");
    const token = parts.keys.openTokens(who.record)?.accessToken;
    if (token === undefined) throw none(who, "The session has no token.");
    return token;
  };

  const passOn = (route: Route, { audience }: TokenTarget, who: Recognised): string => {
    const token = requireToken(who);
    // That a bearer's token names one of the audiences that the row lists was checked when it came.
    if (who.kind === "bearer" && route.row.bearer?.audiences !== undefined) return token;
    const claims = readClaims(token);
    if (claims === undefined || audience === undefined || !audiencesOf(claims).includes(audience))
      throw none(who, "The token is not for this service.");
    return token;
  };

  const issued = (grant: "token_exchange" | "client_credentials", issue: () => Promise<ProviderTokens>): Promise<ProviderTokens> =>
    countEnd((status) => metrics.count("bff_token_exchange_total", { grant_type: grant, status }), issue);

  const subjectOf = (who: Somebody, token: string): TokenSubject => ({
    token,
    sub: who.principal.sub,
    isAgent: who.principal.agent !== undefined,
    subjectOf: oidc.subjectOf,
  });

  const obtain = async (policy: Policy, { service, audience }: TokenTarget, who: Recognised): Promise<string> => {
    if (audience === undefined) throw new Problem("upstream_auth_failed");
    const wish: TokenWish = { audience, scopes: policy.scopes?.toSorted(), internalAudiences: parts.internalAudiences };
    const target = [policy.mode, service, audience, ...(wish.scopes ?? ["*"])];
    const ttlSeconds = policy.cache_ttl;
    if (policy.mode === "service_token")
      return cache.get({ key: target, service, sessionRef: undefined, ttlSeconds }, () =>
        issued("client_credentials", async () => {
          const tokens = await oidc.clientCredentials(wish);
          guardOwn(tokens, wish);
          return tokens;
        }),
      );
    const subjectToken = requireToken(who);
    if (who.kind === "none") throw none(who, "Nobody is signed in.");
    const owner =
      who.kind === "session"
        ? ["session", who.record.issuer, who.record.ref, String(who.record.tokenGeneration)]
        : ["bearer", who.caller.issuer, createHash("sha256").update(subjectToken).digest("base64url")];
    const sessionRef = who.kind === "session" ? who.record.ref : undefined;
    return cache.get({ key: [...owner, ...target], service, sessionRef, ttlSeconds }, () =>
      issued("token_exchange", async () => {
        const tokens = await oidc.exchange({ ...wish, subjectToken });
        guardExchanged(tokens, wish, subjectOf(who, subjectToken));
        return tokens;
      }),
    );
  };

  return {
    authorize: async (route, who) => {
      if (route.target.kind !== "service") return undefined;
      const { service } = route.target;
      if (service.isInternal) return mintAuthorization(parts.identity, route, who);
      const policy = route.row.token_policy;
      if (policy === undefined || route.tokenTarget === undefined) return undefined;
      const token =
        policy.mode === "session_passthrough" ? passOn(route, route.tokenTarget, who) : await obtain(policy, route.tokenTarget, who);
      return `Bearer ${token}`;
    },
    forget: (sessionRef) => cache.forget(sessionRef),
  };
};
