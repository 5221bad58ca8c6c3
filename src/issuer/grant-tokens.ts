import { randomUUID } from "node:crypto";
import type Provider from "oidc-provider";
import type { UnknownObject } from "oidc-provider";
import { OAuthError } from "#authn/model/oauth-error.ts";
import type { TokenClaims } from "./token-claims.ts";

/** A token for a person, through a client. */
export interface TokenOrder {
  readonly clientId: string;
  readonly sub: string;
  /** Names the grant. */
  readonly gty: string;
  readonly claims: UnknownObject;
  readonly scope: string;
  readonly audiences: readonly string[];
  readonly lifeSeconds: number;
}

/** Issues an access token of the embedded issuer for the grants that the library has not. */
export type IssueToken = (order: TokenOrder) => Promise<string>;

/** `resource` stands for all of Sallyport. */
export const createIssueToken = (provider: Provider, claims: TokenClaims, resource: string): IssueToken => {
  return async (order) => {
    const client = await provider.Client.find(order.clientId);
    if (client === undefined) throw new OAuthError("invalid_client", "the client is unknown");
    const token = new provider.AccessToken({
      client,
      accountId: order.sub,
      expiresIn: order.lifeSeconds,
      gty: order.gty,
      scope: order.scope,
      // Of its own: nothing else falls when this token's grant is revoked.
      grantId: randomUUID(),
    });
    token.resourceServer = new provider.ResourceServer(resource, { scope: "", accessTokenFormat: "jwt" });
    claims.note(token, order.audiences, order.claims);
    return token.save();
  };
};
