import type { KoaContextWithOIDC } from "oidc-provider";
import { identityScopes } from "#authn/model/scopes.ts";

const isIdentityScope = (scope: string): boolean => (identityScopes as readonly string[]).includes(scope);

/**
 * What RFC 6749 wants of a token endpoint and the library does not say: 5.2, a client that may not use a grant is
 * `unauthorized_client`; 5.1, an answer without `scope` means all that was asked, so one whose token has none names what was
 * granted of the sign-in itself.
 */
export const completeTokenAnswer = async (ctx: KoaContextWithOIDC, next: () => Promise<void>): Promise<void> => {
  await next();
  if (ctx.oidc?.route !== "token" || typeof ctx.body !== "object" || ctx.body === null) return;
  const body = ctx.body as Readonly<Record<string, unknown>>;
  const { client, params } = ctx.oidc;
  const grant = params?.["grant_type"];
  if (body["error"] === "invalid_request" && typeof grant === "string" && client?.grantTypeAllowed(grant) === false) {
    ctx.body = { ...body, error: "unauthorized_client" };
    return;
  }
  const signedIn = ctx.oidc.entities.AuthorizationCode ?? ctx.oidc.entities.RefreshToken;
  if (body["access_token"] === undefined || body["scope"] || signedIn?.scope === undefined) return;
  const asked = typeof params?.["scope"] === "string" ? params["scope"].split(" ") : undefined;
  const granted = signedIn.scope.split(" ").filter((scope) => isIdentityScope(scope) && asked?.includes(scope) !== false);
  ctx.body = { ...body, scope: granted.join(" ") };
};
