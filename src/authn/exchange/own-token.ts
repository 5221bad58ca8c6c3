import type { DelegatedToken } from "./delegated-token.ts";
import { oneOf, OAuthError } from "#authn/model/oauth-error.ts";
import type { RegisteredClient } from "./registered-clients.ts";
import { isInternalAudience } from "#authn/model/resource-indicator.ts";

export const CLIENT_GRANT = "client_credentials";
const LIFE_SECONDS = 900;

/** What a service's token says that it asks for in its own name: its tenant, at most the scopes it was given, services of this deployment alone. */
export const ownToken = (form: URLSearchParams, client: RegisteredClient, audiences: readonly string[]): DelegatedToken => {
  const named = oneOf(form.getAll("scope"), "scope");
  const asked = named?.split(" ").filter((scope) => scope !== "") ?? client.scopes;
  const wider = asked.filter((scope) => !client.scopes.includes(scope));
  if (wider.length > 0) throw new OAuthError("invalid_scope", `there is ${client.scopes.join(" ")}`);
  const targets = [...form.getAll("resource"), ...form.getAll("audience")].filter((target) => target !== "");
  if (targets.some((target) => !isInternalAudience(audiences, target)))
    throw new OAuthError("invalid_target", `this deployment has ${audiences.join(" ")}`);
  return {
    claims: { sub: client.clientId, tenant: client.tenant },
    scopes: asked,
    audiences: targets.length === 0 ? audiences : [...new Set(targets)],
    lifeSeconds: LIFE_SECONDS,
  };
};
