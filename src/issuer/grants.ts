import type Provider from "oidc-provider";
import type { errors as ProviderErrors } from "oidc-provider";
import type { Caller } from "#authn/model/caller.ts";
import {
  ACCESS_TOKEN_TYPE,
  delegate,
  EXCHANGE_GRANT,
  exchangeParameters,
  parseExchange,
  parseSubjectToken,
  passOn,
} from "#authn/exchange/delegated-token.ts";
import { OAuthError } from "#authn/model/oauth-error.ts";
import { DEMO_GRANT, type KnownClients } from "./clients.ts";
import { createDemoGrant, demoGrantParameters } from "./demo-grant.ts";
import type { Factors } from "./factors.ts";
import { createIssueToken } from "./grant-tokens.ts";
import { valuesOf, type GrantContext } from "./grant-context.ts";
import type { SignIns } from "./sign-ins.ts";
import type { TokenClaims } from "./token-claims.ts";

export interface GrantParts {
  readonly provider: Provider;
  readonly errors: typeof ProviderErrors;
  /** The gateway's own client: it exchanges for services outside Sallyport. */
  readonly webClientId: string;
  readonly signIns: SignIns;
  readonly factors: Factors;
  readonly claims: TokenClaims;
  /** Checks a token of this issuer for one of these. */
  readonly checkFor: (audience: readonly string[]) => (token: string) => Promise<Caller>;
  readonly issuerUrl: string;
  /** All of Sallyport; the first stands for all. */
  readonly audiences: readonly [string, ...string[]];
  readonly clients: KnownClients;
  readonly now: () => Date;
}

type Handler = (ctx: GrantContext) => Promise<Readonly<Record<string, unknown>>>;

/** The grants that the library has not: RFC 8693 for agents, and the development sign-in of the command line. */
export const registerGrants = (parts: GrantParts): void => {
  const { provider, errors, signIns, audiences, now } = parts;
  const issue = createIssueToken(provider, parts.claims, audiences[0]);

  /** The provider's own error for ours, so that both are answered by the same code. */
  const translated = (error: unknown): unknown => {
    if (!(error instanceof OAuthError)) return error;
    const made = new errors.CustomOIDCProviderError(error.code, error.message);
    made.status = error.status;
    made.statusCode = error.status;
    return made;
  };
  const answering = (handler: Handler) => async (ctx: GrantContext) => {
    try {
      ctx.body = await handler(ctx);
    } catch (error) {
      throw translated(error);
    }
  };

  const checkPersonal = parts.checkFor([audiences[0]]);
  // A session's token that names services outside alone; no agent that was handed one comes into Sallyport with it.
  const checkOfSession = parts.checkFor([audiences[0], parts.issuerUrl]);

  const exchange: Handler = async (ctx) => {
    const { clientId } = ctx.oidc.client;
    const agent = await parts.clients.agentOf(clientId);
    if (agent === undefined && clientId !== parts.webClientId) throw new OAuthError("unauthorized_client", "only agents exchange tokens");
    const ask = parseExchange((name) => valuesOf(ctx, name));
    const subject = await parseSubjectToken(agent === undefined ? checkOfSession : checkPersonal, ask.subjectToken);
    const token =
      agent === undefined
        ? passOn(subject, ask, { internalAudiences: audiences, now: now() })
        : delegate(subject, ask, { ...agent, agentScopes: await parts.clients.scopesOf(clientId), audiences, now: now() });
    const { sub: _sub, ...claims } = token.claims;
    const scope = token.scopes.join(" ");
    const order = { ...token, clientId, sub: subject.sub, claims, scope, gty: "token_exchange" };
    return {
      access_token: await issue(order),
      issued_token_type: ACCESS_TOKEN_TYPE,
      token_type: "Bearer",
      expires_in: token.lifeSeconds,
      scope,
    };
  };
  provider.registerGrantType(EXCHANGE_GRANT, answering(exchange), exchangeParameters, ["audience", "resource"]);

  const demo = createDemoGrant({ signIns, factors: parts.factors, issue, audiences, scopesOfClient: parts.clients.scopesOf, now });
  provider.registerGrantType(DEMO_GRANT, answering(demo), demoGrantParameters, ["resource"]);
};
