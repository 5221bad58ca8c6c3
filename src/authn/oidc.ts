import * as openid from "openid-client";
import type { OidcClient, ProviderTokens } from "./oidc-client.ts";
import { createOidcGrants } from "./oidc-grants.ts";
import { createOidcSignIn, type OidcSignInParts } from "./oidc-sign-in.ts";
import { createProviderConnection, type ProviderConnectionParts } from "./provider-connection.ts";

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

  const shared = { ...parts, provider, tokensOf };
  return {
    issuer,
    ...createOidcSignIn({ ...shared, sendsResources: parts.sendsResources ?? false }),
    ...createOidcGrants(shared),
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
