import * as openid from "openid-client";
import { Problem } from "#contract/problem.ts";
import type { Metrics } from "#telemetry/metrics.ts";
import { satisfies, type Assurance } from "./assurance.ts";
import { identityOfProvider, type Identity, type IdentityMapping } from "./claims.ts";
import { ACCESS_TOKEN_TYPE, EXCHANGE_GRANT } from "./delegated-token.ts";
import { createProviderConnection } from "./provider-connection.ts";

export interface OidcClientParts {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** Asked of the provider at sign-in. */
  readonly scopes: readonly string[];
  readonly mapping: IdentityMapping;
  readonly now: () => Date;
  readonly metrics: Metrics;
  readonly fetch?: (url: string, init?: RequestInit) => Promise<Response>;
}

export interface BeginSignIn {
  /** One of ours, registered at the provider, e.g. `http://localhost:8080/auth/callback`. */
  readonly redirectUri: string;
  readonly acrValues?: string;
  readonly maxAge?: number;
  readonly prompt?: "login" | "none";
  readonly loginHint?: string;
}

/** What must come back; kept by the gateway in its sealed transaction, never in the browser's reach. */
export interface SignInChecks {
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
}

export interface FinishSignIn extends SignInChecks {
  /** The callback as the browser called it: the redirect URI with its query. */
  readonly currentUrl: URL;
  /** What a step-up asked for; a sign-in that is less is `step_up_not_met`. */
  readonly assurance?: Assurance;
  readonly maxAge?: number;
}

export interface ProviderTokens {
  readonly accessToken: string;
  /** Seconds since 1970. */
  readonly accessExpiresAt: number;
  readonly refreshToken?: string;
  readonly idToken?: string;
  readonly scope?: string;
}

export interface UpstreamTokenAsk {
  readonly audience: string;
  /** `undefined`: the provider's choice. */
  readonly scopes: readonly string[] | undefined;
}

export interface SignedIn extends Identity {
  readonly name: string;
  readonly issuer: string;
  /** The provider's session, for sign-out from there. */
  readonly idpSession?: string;
  /** The provider's own name of the person (`sub`), by which it asks for a sign-out everywhere. */
  readonly idpSubject?: string;
  readonly tokens: ProviderTokens;
}

/**
 * What became of a refresh. `denied`: the provider knows the token no more (`invalid_grant`). `unsent`: the provider did
 * not take it, so it is unspent. `unanswered`: it was sent and no clear answer came; it may be spent.
 */
export type RefreshOutcome =
  | { readonly kind: "tokens"; readonly tokens: ProviderTokens }
  | { readonly kind: "denied" }
  | { readonly kind: "unsent" | "unanswered"; readonly cause: unknown };

export interface OidcClient {
  readonly issuer: string;
  /** Where to send the browser. Throws `identity_provider_unavailable`. */
  begin(ask: BeginSignIn): Promise<{ readonly url: string } & SignInChecks>;
  /** Checks the callback, redeems the code. Throws `login_failed`, `identity_rejected`, `step_up_not_met`, `identity_provider_unavailable`. */
  finish(given: FinishSignIn): Promise<SignedIn>;
  /** Redeems a refresh token, once: waits at most 10 s. Never throws. */
  refresh(refreshToken: string): Promise<RefreshOutcome>;
  /** RFC 8693: a token for another audience in the name of a subject token's owner. Throws `upstream_auth_failed` (502) when it is refused, `identity_provider_unavailable`. */
  exchange(ask: UpstreamTokenAsk & { readonly subjectToken: string }): Promise<ProviderTokens>;
  /** A token of this client itself, by its credentials. Throws as `exchange`. */
  clientCredentials(ask: UpstreamTokenAsk): Promise<ProviderTokens>;
  /** Who a provider's claims are about, as the house names people; `undefined` when they do not say. */
  subjectOf(claims: Readonly<Record<string, unknown>>): string | undefined;
  /** RFC 7009; true once the provider took it, or offers no revocation. */
  revoke(refreshToken: string): Promise<boolean>;
  /** Where to send the browser to sign out there too; `undefined` if the provider has no such page or is down. */
  endSessionUrl(ask: { readonly idToken?: string; readonly postLogoutRedirectUri?: string }): Promise<string | undefined>;
  /** Asks the provider for its metadata anew; throws `identity_provider_unavailable`. For health checks. */
  ready(): Promise<void>;
}

/** A clock that is a little off must not turn a fresh sign-in into a stale one. */
const AUTH_TIME_TOLERANCE_SECONDS = 60;
const DEFAULT_LIFE_SECONDS = 300;

const unavailable = (cause: unknown): Problem => new Problem("identity_provider_unavailable", { cause, headers: { "retry-after": "5" } });

const text = (value: unknown): string | undefined => (typeof value === "string" && value !== "" ? value : undefined);

/** The gateway's side of OpenID Connect: confidential client, code + PKCE S256, `state`, `nonce`, `iss`, PAR when offered. */
export const createOidcClient = (parts: OidcClientParts): OidcClient => {
  const provider = createProviderConnection(parts);

  const idTokenChecked = (status: "ok" | "invalid_token"): void =>
    parts.metrics.count("bff_token_validation_total", { token_type: "id_token", status });

  const tokensOf = (answer: openid.TokenEndpointResponse): ProviderTokens => ({
    accessToken: answer.access_token,
    accessExpiresAt: Math.floor(parts.now().getTime() / 1000) + (answer.expires_in ?? DEFAULT_LIFE_SECONDS),
    ...(answer.refresh_token === undefined ? {} : { refreshToken: answer.refresh_token }),
    ...(answer.id_token === undefined ? {} : { idToken: answer.id_token }),
    ...(answer.scope === undefined ? {} : { scope: answer.scope }),
  });

  /** A token for an upstream. What the provider refuses is our fault towards the client, not the client's. */
  const issue = async (grant: (config: openid.Configuration) => Promise<openid.TokenEndpointResponse>): Promise<ProviderTokens> => {
    const config = await provider.configuration();
    const answer = await grant(config).catch((cause: unknown) => {
      throw provider.isOutage(cause) ? unavailable(cause) : new Problem("upstream_auth_failed", { cause });
    });
    if (answer.token_type.toLowerCase() !== "bearer") throw new Problem("upstream_auth_failed", { cause: new Error("not a bearer token") });
    return tokensOf(answer);
  };

  const identityOf = (claims: openid.IDToken): Identity => {
    try {
      return identityOfProvider(claims, parts.mapping);
    } catch (error) {
      if (error instanceof Problem && error.code === "tenant_required")
        throw new Problem("identity_rejected", { detail: "The identity provider names no tenant.", cause: error });
      throw error;
    }
  };

  const requireAssurance = (who: Identity, given: FinishSignIn): void => {
    const age = parts.now().getTime() / 1000 - (who.authTime ?? 0);
    const isStale = given.maxAge !== undefined && (who.authTime === undefined || age > given.maxAge + AUTH_TIME_TOLERANCE_SECONDS);
    const isWeak = given.assurance !== undefined && !satisfies(who.acr, given.assurance);
    if (isStale || isWeak)
      throw new Problem("step_up_not_met", { detail: isWeak ? "A second factor was asked for." : "A fresh sign-in was asked for." });
  };

  return {
    issuer: parts.issuer,
    begin: async (ask) => {
      const config = await provider.configuration();
      const checks = { state: openid.randomState(), nonce: openid.randomNonce(), verifier: openid.randomPKCECodeVerifier() };
      const parameters: Record<string, string> = {
        redirect_uri: ask.redirectUri,
        scope: parts.scopes.join(" "),
        state: checks.state,
        nonce: checks.nonce,
        code_challenge: await openid.calculatePKCECodeChallenge(checks.verifier),
        code_challenge_method: "S256",
        ...(ask.acrValues === undefined ? {} : { acr_values: ask.acrValues }),
        ...(ask.maxAge === undefined ? {} : { max_age: String(ask.maxAge) }),
        ...(ask.prompt === undefined ? {} : { prompt: ask.prompt }),
        ...(ask.loginHint === undefined ? {} : { login_hint: ask.loginHint }),
      };
      try {
        const isPushed = config.serverMetadata().pushed_authorization_request_endpoint !== undefined;
        const url = isPushed
          ? await openid.buildAuthorizationUrlWithPAR(config, parameters)
          : openid.buildAuthorizationUrl(config, parameters);
        return { url: url.href, ...checks };
      } catch (cause) {
        throw unavailable(cause);
      }
    },
    finish: async (given) => {
      const config = await provider.configuration();
      const answer = await openid
        .authorizationCodeGrant(config, given.currentUrl, {
          expectedState: given.state,
          expectedNonce: given.nonce,
          pkceCodeVerifier: given.verifier,
          idTokenExpected: true,
        })
        .catch((cause: unknown) => {
          if (provider.isOutage(cause)) throw unavailable(cause);
          // The library read an answer of the provider and did not take it: what stands in it is the ID token.
          if (cause instanceof openid.ClientError) idTokenChecked("invalid_token");
          const isCancelled = cause instanceof openid.AuthorizationResponseError && cause.error === "access_denied";
          throw new Problem("login_failed", { cause, ...(isCancelled ? { detail: "The sign-in was cancelled." } : {}) });
        });
      const claims = answer.claims();
      if (claims === undefined) throw new Problem("login_failed");
      idTokenChecked("ok");
      const who = identityOf(claims);
      requireAssurance(who, given);
      const idpSession = text(claims["sid"]);
      return {
        ...who,
        name: text(claims["name"]) ?? text(claims["preferred_username"]) ?? who.sub,
        issuer: parts.issuer,
        tokens: tokensOf(answer),
        idpSubject: claims.sub,
        ...(idpSession === undefined ? {} : { idpSession }),
      };
    },
    refresh: async (refreshToken) => {
      const started = performance.now();
      let status = "ok";
      try {
        const config = await provider.configuration();
        return { kind: "tokens", tokens: tokensOf(await openid.refreshTokenGrant(config, refreshToken)) };
      } catch (cause) {
        const isDenied = cause instanceof openid.ResponseBodyError && cause.error === "invalid_grant";
        status = isDenied ? "denied" : "error";
        return isDenied ? { kind: "denied" } : { kind: provider.isUntaken(cause) ? "unsent" : "unanswered", cause };
      } finally {
        parts.metrics.observe("bff_token_refresh_duration_ms", { status }, performance.now() - started);
      }
    },
    exchange: (ask) =>
      issue(async (config) =>
        openid.genericGrantRequest(config, EXCHANGE_GRANT, {
          subject_token: ask.subjectToken,
          subject_token_type: ACCESS_TOKEN_TYPE,
          requested_token_type: ACCESS_TOKEN_TYPE,
          audience: ask.audience,
          ...(ask.scopes === undefined ? {} : { scope: ask.scopes.join(" ") }),
        }),
      ),
    clientCredentials: (ask) =>
      issue(async (config) =>
        openid.clientCredentialsGrant(config, {
          audience: ask.audience,
          // Some providers know targets by this name alone, and only absolute addresses by it (RFC 8707).
          ...(/^[a-z][a-z0-9+.-]*:[^#]+$/i.test(ask.audience) ? { resource: ask.audience } : {}),
          ...(ask.scopes === undefined ? {} : { scope: ask.scopes.join(" ") }),
        }),
      ),
    subjectOf: (claims) => {
      const found = text(claims[parts.mapping.subjectClaim]);
      return found === undefined ? undefined : `${parts.mapping.subjectPrefix}${found}`;
    },
    revoke: async (refreshToken) => {
      try {
        const config = await provider.configuration();
        if (config.serverMetadata().revocation_endpoint === undefined) return true;
        await openid.tokenRevocation(config, refreshToken, { token_type_hint: "refresh_token" });
        return true;
      } catch {
        return false;
      }
    },
    endSessionUrl: async (ask) => {
      const config = await provider.configuration().catch(() => undefined);
      if (config?.serverMetadata().end_session_endpoint === undefined) return undefined;
      return openid.buildEndSessionUrl(config, {
        ...(ask.idToken === undefined ? {} : { id_token_hint: ask.idToken }),
        ...(ask.postLogoutRedirectUri === undefined ? {} : { post_logout_redirect_uri: ask.postLogoutRedirectUri }),
      }).href;
    },
    ready: () => provider.probe(),
  };
};
