import type { Configuration, errors as ProviderErrors, interactionPolicy, KoaContextWithOIDC } from "oidc-provider";
import type { JWK } from "jose";
import { isInternalAudience } from "#authn/model/resource-indicator.ts";
import { identityScopes } from "#authn/model/scopes.ts";
import { logoutUrlOf, type KnownClients, type WebClient } from "./clients.ts";
import type { Factors } from "./factors.ts";
import { signInPolicy } from "./sign-in-policy.ts";
import { signInPath } from "./sign-in.ts";
import { renderError, type signOutPages } from "./sign-out.ts";
import { signingAlgorithms } from "./signing-keys.ts";
import type { TokenClaims } from "./token-claims.ts";

const HOURS_8 = 28_800;

export interface ConfigurationParts {
  readonly adapter: NonNullable<Configuration["adapter"]>;
  readonly jwks: readonly JWK[];
  readonly cookieKeys: readonly string[];
  /** Cookies are shared by all ports of a host, so their names say whose they are. */
  readonly cookieSuffix: string;
  readonly clients: NonNullable<Configuration["clients"]>;
  readonly library: { readonly errors: typeof ProviderErrors; readonly interactionPolicy: typeof interactionPolicy };
  readonly factors: Pick<Factors, "find">;
  readonly claims: Pick<TokenClaims, "of">;
  /** `aud` of a token for a resource; `granted` are all that its sign-in asked for. */
  readonly audienceOf: (token: object, resource: string, granted: readonly string[]) => string | readonly string[];
  /** What may be named as `resource`, beside views (`isInternalAudience`); the first stands for all. */
  readonly audiences: readonly string[];
  readonly web: WebClient;
  readonly known: Pick<KnownClients, "scopesOf">;
  readonly signOut: ReturnType<typeof signOutPages>;
}

/** Every client is Sallyport's own, so a grant is what was asked: nobody is asked to consent to it. */
const loadExistingGrant = async (ctx: KoaContextWithOIDC) => {
  const { client, session, provider } = ctx.oidc;
  if (client === undefined || session?.accountId === undefined) return undefined;
  const held = session.grantIdFor(client.clientId);
  const found = held === undefined ? undefined : await provider.Grant.find(held);
  const grant =
    found?.accountId === session.accountId ? found : new provider.Grant({ accountId: session.accountId, clientId: client.clientId });
  grant.addOIDCScope([...ctx.oidc.requestParamOIDCScopes].join(" "));
  for (const [resource, server] of Object.entries(ctx.oidc.resourceServers ?? {})) {
    grant.addResourceScope(resource, [...ctx.oidc.requestParamScopes].filter((scope) => server.scopes.has(scope)).join(" "));
  }
  await grant.save();
  return grant;
};

/** How the provider is set up. What is not switched on here is off. */
export const configurationOf = (parts: ConfigurationParts): Configuration => ({
  adapter: parts.adapter,
  jwks: { keys: [...parts.jwks] as never },
  clients: [...parts.clients],
  cookies: {
    names: {
      session: `sallyport_op_session_${parts.cookieSuffix}`,
      interaction: `sallyport_op_sign_in_${parts.cookieSuffix}`,
      resume: `sallyport_op_resume_${parts.cookieSuffix}`,
    },
    keys: [...parts.cookieKeys],
    long: { httpOnly: true, sameSite: "lax", signed: true },
    short: { httpOnly: true, sameSite: "lax", signed: true },
  },
  clientDefaults: { id_token_signed_response_alg: "ES256" },
  enabledJWA: { idTokenSigningAlgValues: [...signingAlgorithms] },
  responseTypes: ["code"],
  subjectTypes: ["public"],
  scopes: [...identityScopes],
  acrValues: ["strong"],
  claims: { iss: null, openid: ["sub", "tenant", "acr", "amr", "auth_time", "sid"], profile: ["name"] },
  conformIdTokenClaims: false,
  pkce: { required: () => true },
  clientAuthMethods: ["client_secret_basic", "none"],
  clientBasedCORS: () => false,
  rotateRefreshToken: true,
  issueRefreshToken: async (_ctx, client) => client.grantTypeAllowed("refresh_token"),
  expiresWithSession: async () => true,
  ttl: {
    AccessToken: 900,
    AuthorizationCode: 60,
    ClientCredentials: 900,
    Grant: HOURS_8,
    IdToken: 900,
    Interaction: 600,
    RefreshToken: HOURS_8,
    Session: HOURS_8,
  },
  interactions: { policy: signInPolicy(parts.library.interactionPolicy), url: (_ctx, interaction) => signInPath(interaction.uid) },
  loadExistingGrant,
  findAccount: (_ctx, sub) => {
    const person = parts.factors.find(sub);
    return person === undefined
      ? undefined
      : { accountId: person.sub, claims: () => ({ sub: person.sub, name: person.name, tenant: person.tenant }) };
  },
  extraTokenClaims: parts.claims.of,
  formats: {
    customizers: {
      jwt: (ctx, token, jwt) => {
        const granted = (ctx.oidc.entities.AuthorizationCode ?? ctx.oidc.entities.RefreshToken)?.resource ?? [];
        jwt.payload["aud"] = parts.audienceOf(token, String(jwt.payload["aud"]), [granted].flat());
      },
    },
  },
  // The library calls no loopback address by itself. The one call that this issuer makes goes to its own gateway.
  fetch: (url, { dispatcher: _guarded, ...options }: RequestInit & { dispatcher?: unknown } = {}) =>
    url === logoutUrlOf(parts.web) ? fetch(url, options) : Promise.reject(new TypeError("only the gateway is told of sign-outs")),
  features: {
    backchannelLogout: { enabled: true },
    devInteractions: { enabled: false },
    dPoP: { enabled: false },
    userinfo: { enabled: false },
    revocation: { enabled: true, allowedPolicy: (_ctx, client, token) => token.clientId === client.clientId },
    clientCredentials: { enabled: true },
    rpInitiatedLogout: { enabled: true, ...parts.signOut },
    resourceIndicators: {
      enabled: true,
      // Of several that were granted the token is made for all; the library knows it by one.
      defaultResource: (_ctx, _client, oneOf) => oneOf?.[0] ?? parts.audiences[0] ?? "",
      useGrantedResource: () => true,
      getResourceServerInfo: async (ctx, resource, client) => {
        const { InvalidScope, InvalidTarget } = parts.library.errors;
        const isOwn = isInternalAudience(parts.audiences, resource);
        const isGateway = client.clientId === parts.web.clientId;
        const server = (scope: string) => ({ scope, accessTokenFormat: "jwt" as const, jwt: { sign: { alg: "ES256" as const } } });
        // Services outside are known to the gateway alone. Its service tokens, in its own name, are for none of Sallyport.
        if (isGateway && ctx.oidc.params?.["grant_type"] === "client_credentials") {
          if (isOwn) throw new InvalidTarget("name a service outside this deployment");
          const scope = ctx.oidc.params["scope"];
          return server(typeof scope === "string" ? scope : "");
        }
        if (!isOwn && !isGateway) throw new InvalidTarget(`this deployment has ${parts.audiences.join(" ")}`);
        const max = await parts.known.scopesOf(client.clientId);
        // A service that asks for scopes is told when it has none of them: an answer without any would mean all.
        const asked = ctx.oidc.params?.["grant_type"] === "client_credentials" ? [...ctx.oidc.requestParamScopes] : [];
        if (asked.length > 0 && !asked.some((scope) => max.includes(scope))) throw new InvalidScope(`there is ${max.join(" ")}`, "");
        return server(max.join(" "));
      },
    },
  },
  renderError,
});
