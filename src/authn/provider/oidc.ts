import * as openid from "openid-client";
import { Problem } from "#contract/problem.ts";
import { ACCESS_TOKEN_TYPE, EXCHANGE_GRANT } from "#authn/exchange/delegated-token.ts";
import type { OidcClient, ProviderTokens } from "./oidc-client.ts";
import { createOidcSignIn, type OidcSignInParts } from "./oidc-sign-in.ts";
import { createProviderConnection, providerAway, type ProviderConnectionParts } from "./provider-connection.ts";

export interface OidcClientParts extends ProviderConnectionParts, Omit<OidcSignInParts, "provider" | "tokensOf" | "sendsResources"> {
  /** Whether the provider is told what the session's token is for (RFC 8707): the embedded issuer is; not every other takes it. */
  readonly sendsResources?: boolean;
}

const DEFAULT_LIFE_SECONDS = 300;

/** The gateway's side of OpenID Connect: a confidential client at one provider. */
export const createOidcClient = (parts: OidcClientParts): OidcClient => {
  const { issuer, mapping, now } = parts;
  const provider = createProviderConnection(parts);
  const tokensOf = (answer: openid.TokenEndpointResponse): ProviderTokens => ({
    accessToken: answer.access_token,
    accessExpiresAt: Math.floor(now().getTime() / 1000) + (answer.expires_in ?? DEFAULT_LIFE_SECONDS),
    refreshToken: answer.refresh_token,
    idToken: answer.id_token,
    scope: answer.scope,
  });

  /** A token for an upstream. What the provider refuses is our issue towards the client, not the client's. */
  const issue = async (grant: (config: openid.Configuration) => Promise<openid.TokenEndpointResponse>): Promise<ProviderTokens> => {
    const config = await provider.configuration();
    const answer = await grant(config).catch((cause: unknown) => {
      throw provider.isOutage(cause) ? providerAway(cause) : new Problem("upstream_auth_failed", { cause });
    });
    if (answer.token_type.toLowerCase() !== "bearer") throw new Problem("upstream_auth_failed", { cause: new Error("not a bearer token") });
    return tokensOf(answer);
  };

  return {
    issuer,
    ...createOidcSignIn({ ...parts, provider, tokensOf, sendsResources: parts.sendsResources ?? false }),
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
    subjectOf: (claims) => {
      const found = claims[mapping.subjectClaim];
      return typeof found !== "string" || found === "" ? undefined : `${mapping.subjectPrefix}${found}`;
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
