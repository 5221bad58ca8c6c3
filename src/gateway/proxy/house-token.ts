import type { HouseIdentity } from "#authn/house-identity.ts";
import type { Recognised } from "#gateway/recognise.ts";
import type { Route } from "#gateway/routes/route-table.ts";

/**
 * The Authorization header for a row's upstream: a service of the house gets a 60 s token that the gateway signs for this
 * one call, in the caller's name and never wider than the caller's own; any other upstream gets none. The scopes of the
 * row's policy, if it has some, are the most it may carry.
 */
export const mintAuthorization = async (identity: HouseIdentity, route: Route, who: Recognised): Promise<string | undefined> => {
  if (who.kind === "none" || route.target.kind !== "service" || !route.target.service.isHouse) return undefined;
  const audience = route.tokenTarget?.audience;
  if (audience === undefined) return undefined;
  const limit = route.row.token_policy?.scopes;
  const { asker } = who;
  const token = await identity.onBehalfOf(audience, {
    sub: asker.sub,
    tenant: asker.tenant,
    scopes: limit === undefined ? asker.scopes : [...asker.scopes].filter((scope) => limit.includes(scope)),
    amr: asker.amr,
    actors: who.kind === "bearer" ? who.caller.actors : undefined,
    clientId: asker.clientId,
    acr: asker.acr,
    authTime: asker.authTime,
  });
  return `Bearer ${token}`;
};
