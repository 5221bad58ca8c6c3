import type { ServiceIdentity } from "#authn/keys/service-identity.ts";
import type { Recognised } from "#gateway/steps/recognise.ts";
import type { Route } from "#gateway/routes/route-table.ts";

/**
 * The Authorization header for a row's upstream: a service of Sallyport gets a 60 s token that the gateway signs for this
 * one call, in the caller's name and never wider than the caller's own; any other upstream gets none. The scopes of the
 * row's policy, if it has some, are the most it may carry.
 */
export const mintAuthorization = async (identity: ServiceIdentity, route: Route, who: Recognised): Promise<string | undefined> => {
  if (who.kind === "none" || route.target.kind !== "service" || !route.target.service.isInternal) return undefined;
  const audience = route.tokenTarget?.audience;
  if (audience === undefined) return undefined;
  const limit = route.row.token_policy?.scopes;
  const { principal } = who;
  const token = await identity.onBehalfOf(audience, {
    sub: principal.sub,
    tenant: principal.tenant,
    scopes: limit === undefined ? principal.scopes : [...principal.scopes].filter((scope) => limit.includes(scope)),
    amr: principal.amr,
    actors: who.kind === "bearer" ? who.caller.actors : undefined,
    clientId: principal.clientId,
    acr: principal.acr,
    authTime: principal.authTime,
  });
  return `Bearer ${token}`;
};
