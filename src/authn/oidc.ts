import * as openid from "openid-client";
import type { Metrics } from "#telemetry/metrics.ts";
import type { IdentityMapping } from "./claims.ts";
import type { OidcClient, ProviderTokens } from "./oidc-client.ts";
import { createOidcGrants } from "./oidc-grants.ts";
import { createOidcSignIn, type SettlePerson } from "./oidc-sign-in.ts";
import { createProviderConnection } from "./provider-connection.ts";

export interface OidcClientParts {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** Asked of the provider at sign-in. */
  readonly scopes: readonly string[];
  /** Whether the provider is told what the session's token is for (RFC 8707): the embedded issuer is; not every other takes it. */
  readonly sendsResources?: boolean;
  readonly mapping: IdentityMapping;
  /** Who somebody is who has signed in; without it subjects are node ids. */
  readonly settle?: SettlePerson | undefined;
  readonly now: () => Date;
  readonly metrics: Metrics;
  readonly fetch?: (url: string, init?: RequestInit) => Promise<Response>;
}

const DEFAULT_LIFE_SECONDS = 300;

/** The gateway's side of OpenID Connect: a confidential client at one provider. */
export const createOidcClient = (parts: OidcClientParts): OidcClient => {
  const { issuer, mapping, metrics, now } = parts;
  const provider = createProviderConnection(parts);
  const tokensOf = (answer: openid.TokenEndpointResponse): ProviderTokens => ({
    accessToken: answer.access_token,
    accessExpiresAt: Math.floor(now().getTime() / 1000) + (answer.expires_in ?? DEFAULT_LIFE_SECONDS),
    ...(answer.refresh_token === undefined ? {} : { refreshToken: answer.refresh_token }),
    ...(answer.id_token === undefined ? {} : { idToken: answer.id_token }),
    ...(answer.scope === undefined ? {} : { scope: answer.scope }),
  });

  const shared = { provider, tokensOf, metrics, now };
  return {
    issuer,
    ...createOidcSignIn({
      ...shared,
      issuer,
      mapping,
      settle: parts.settle,
      scopes: parts.scopes,
      sendsResources: parts.sendsResources ?? false,
    }),
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
