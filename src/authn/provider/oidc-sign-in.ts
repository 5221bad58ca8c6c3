import * as openid from "openid-client";
import { Problem } from "#contract/problem.ts";
import type { Metrics } from "#telemetry/metrics.ts";
import { satisfies } from "#authn/model/assurance.ts";
import {
  assuranceOfProvider,
  identityOfProvider,
  requireNoService,
  subjectOfProvider,
  tenantOfProvider,
  type Identity,
  type IdentityMapping,
  type LinkedPerson,
} from "#authn/model/claims.ts";
import type { FinishSignIn, OidcClient, ProviderTokens } from "./oidc-client.ts";
import { providerAway, type ProviderConnection } from "./provider-connection.ts";
import { resourceOf } from "#authn/model/resource-indicator.ts";

/** What the provider says of somebody who has just signed in there. */
export interface Arrival {
  readonly issuer: string;
  /** As the provider names the person. */
  readonly subject: string;
  readonly tenant?: string | undefined;
  readonly claims: Readonly<Record<string, unknown>>;
}

/** Who somebody is who has just signed in; may make or change who that is. Throws `unknown_person`. */
export type SettlePerson = (arrival: Arrival) => Promise<LinkedPerson | undefined>;

export interface OidcSignInParts {
  readonly provider: ProviderConnection;
  readonly issuer: string;
  /** Asked of the provider at sign-in. */
  readonly scopes: readonly string[];
  /** Whether the provider is told what the session's token is for (RFC 8707). */
  readonly sendsResources: boolean;
  readonly mapping: IdentityMapping;
  /** Who somebody is who has signed in; without it subjects are node ids. */
  readonly settle?: SettlePerson | undefined;
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

  const identityOf = async (claims: openid.IDToken): Promise<Identity> => {
    try {
      const subject = subjectOfProvider(claims, parts.mapping);
      const tenant = tenantOfProvider(claims, parts.mapping);
      const linked = await parts.settle?.({ issuer: parts.issuer, subject, tenant, claims });
      const who = identityOfProvider(claims, parts.mapping, linked);
      requireNoService(who.sub, undefined);
      return who;
    } catch (error) {
      if (error instanceof Problem && error.code === "tenant_required")
        throw new Problem("identity_rejected", { detail: "The identity provider names no tenant.", cause: error });
      throw error;
    }
  };

  const requireAssurance = (who: Pick<Identity, "acr" | "authTime">, given: FinishSignIn): void => {
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
    throw new Problem("login_failed", { cause, detail: isCancelled ? "The sign-in was cancelled." : undefined });
  };

  return {
    begin: async (ask) => {
      const config = await provider.configuration();
      const checks = { state: openid.randomState(), nonce: openid.randomNonce(), verifier: openid.randomPKCECodeVerifier() };
      const parameters = new URLSearchParams({
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
      });
      for (const audience of parts.sendsResources ? (ask.audiences ?? []) : []) parameters.append("resource", resourceOf(audience));
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
      // Whoever did not sign in as was asked changes nothing here.
      requireAssurance(assuranceOfProvider(claims, parts.mapping), given);
      const who = await identityOf(claims);
      return {
        ...who,
        name: text(claims["name"]) ?? text(claims["preferred_username"]) ?? who.sub,
        issuer: parts.issuer,
        tokens: tokensOf(answer),
        idpSubject: claims.sub,
        idpSession: text(claims["sid"]),
      };
    },
  };
};
