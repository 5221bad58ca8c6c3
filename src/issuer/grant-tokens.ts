import { randomUUID } from "node:crypto";
import type Provider from "oidc-provider";
import type { Client, UnknownObject } from "oidc-provider";
import { OAuthError } from "#authn/oauth-error.ts";
import type { TokenClaims } from "./token-claims.ts";

/** What a grant of our own issues. */
export interface TokenOrder {
  readonly clientId: string;
  readonly claims: UnknownObject;
  readonly scope: string;
  readonly audiences: readonly string[];
  readonly lifeSeconds: number;
}

/** Access tokens of the embedded issuer for the grants that the library has not. */
export interface GrantTokens {
  /** For a person, through a client; `gty` names the grant. */
  forPerson(order: TokenOrder & { readonly sub: string; readonly gty: string }): Promise<string>;
}

export const createGrantTokens = (parts: {
  readonly provider: Provider;
  readonly claims: TokenClaims;
  /** Stands for all of the house. */
  readonly resource: string;
}): GrantTokens => {
  const { provider } = parts;
  const house = () => new provider.ResourceServer(parts.resource, { scope: "", accessTokenFormat: "jwt" });
  const clientOf = async (clientId: string): Promise<Client> => {
    const client = await provider.Client.find(clientId);
    if (client === undefined) throw new OAuthError("invalid_client", "the client is unknown");
    return client;
  };
  return {
    forPerson: async (order) => {
      const token = new provider.AccessToken({
        client: await clientOf(order.clientId),
        accountId: order.sub,
        expiresIn: order.lifeSeconds,
        gty: order.gty,
        scope: order.scope,
        // Of its own: nothing else falls when this token's grant is revoked.
        grantId: randomUUID(),
      });
      token.resourceServer = house();
      parts.claims.note(token, order.audiences, order.claims);
      return token.save();
    },
  };
};
