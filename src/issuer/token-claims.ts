import type { KoaContextWithOIDC, AccessToken, ClientCredentials, UnknownObject } from "oidc-provider";
import type { Person } from "./sign-ins.ts";

/** What our grants say of a token beside the provider's own claims. The provider asks for it when it signs. */
export interface TokenClaims {
  /** Notes what a token about to be saved says: its `aud`, and its claims. */
  note(token: object, audience: readonly string[], claims: UnknownObject): void;
  audienceOf(token: object): readonly string[] | undefined;
  of(ctx: KoaContextWithOIDC, token: AccessToken | ClientCredentials): Promise<UnknownObject>;
}

/**
 * Claims of access tokens: the tenant, and how and when the person signed in, which the provider keeps with the code and
 * the refresh token. A service's tenant is its own, or `*`.
 */
export const createTokenClaims = (
  find: (sub: string) => Person | undefined,
  tenantOf: (clientId: string) => Promise<string>,
): TokenClaims => {
  const noted = new WeakMap<object, { readonly audience: readonly string[]; readonly claims: UnknownObject }>();
  return {
    note: (token, audience, claims) => void noted.set(token, { audience, claims }),
    audienceOf: (token) => noted.get(token)?.audience,
    of: async (ctx, token) => {
      const given = noted.get(token)?.claims;
      if (given !== undefined) return given;
      if (token.kind === "ClientCredentials") return { tenant: await tenantOf(token.clientId ?? "") };
      const person = "accountId" in token ? find(token.accountId) : undefined;
      const source = ctx.oidc.entities.AuthorizationCode ?? ctx.oidc.entities.RefreshToken;
      return {
        ...(person === undefined ? {} : { tenant: person.tenant }),
        acr: source?.acr,
        amr: source?.amr,
        auth_time: source?.authTime,
      };
    },
  };
};
