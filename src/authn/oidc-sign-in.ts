import * as openid from "openid-client";
import { Problem } from "#contract/problem.ts";
import type { Metrics } from "#telemetry/metrics.ts";
import { satisfies } from "./assurance.ts";
import { identityOfProvider, type Identity, type IdentityMapping } from "./claims.ts";
import type { FinishSignIn, OidcClient, ProviderTokens } from "./oidc-client.ts";
import { providerAway, type ProviderConnection } from "./provider-connection.ts";

export interface OidcSignInParts {
  readonly provider: ProviderConnection;
  readonly issuer: string;
  /** Asked of the provider at sign-in. */
  readonly scopes: readonly string[];
  readonly mapping: IdentityMapping;
  readonly tokensOf: (answer: openid.TokenEndpointResponse) => ProviderTokens;
  readonly now: () => Date;
  readonly metrics: Metrics;
}

/** A clock that is a little off must not turn a fresh sign-in into a stale one. */
const AUTH_TIME_TOLERANCE_SECONDS = 60;

const text = (value: unknown): string | undefined => (typeof value === "string" && value !== "" ? value : undefined);

/** Sends the browser to the provider, and takes it back: code + PKCE S256, `state`, `nonce`, `iss`, PAR when offered. */
export const createOidcSignIn = (parts: OidcSignInParts): Pick<OidcClient, "begin" | "finish"> => {
  const { provider, tokensOf } = parts;
  const idTokenChecked = (status: "ok" | "invalid_token"): void =>
    parts.metrics.count("bff_token_validation_total", { token_type: "id_token", status });

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

  const redeemCode = (config: openid.Configuration, given: FinishSignIn) =>
    openid.authorizationCodeGrant(config, given.currentUrl, {
      expectedState: given.state,
      expectedNonce: given.nonce,
      pkceCodeVerifier: given.verifier,
      idTokenExpected: true,
    });
  const refuseCode = (cause: unknown): never => {
    if (provider.isOutage(cause)) throw providerAway(cause);
    // The library read an answer of the provider and did not take it: what stands in it is the ID token.
    if (cause instanceof openid.ClientError) idTokenChecked("invalid_token");
    const isCancelled = cause instanceof openid.AuthorizationResponseError && cause.error === "access_denied";
    throw new Problem("login_failed", { cause, ...(isCancelled ? { detail: "The sign-in was cancelled." } : {}) });
  };

  return {
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
        throw providerAway(cause);
      }
    },
    finish: async (given) => {
      const config = await provider.configuration();
      const answer = await redeemCode(config, given).catch(refuseCode);
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
  };
};
