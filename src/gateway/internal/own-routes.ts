import { requireAgentMay } from "#authn/model/agent-rule.ts";
import type { Endpoint } from "#contract/endpoint.ts";
import { Problem } from "#contract/problem.ts";
import { explainRequest, explainRoute, reloadRoutes } from "#contract/routes.ts";
import type { PdpClient } from "#pdp-client/pdp-client.ts";
import type { ReloadRoutes } from "#gateway/active-routes/reload-routes.ts";
import { readJson } from "#gateway/model/read-body.ts";
import { reply } from "#gateway/model/reply.ts";
import type { ExplainRoute } from "#gateway/explain-routes/explain-route.ts";
import type { RouteCall } from "#gateway/steps/route-call.ts";

const MAX_BODY_BYTES = 262_144;

/** Throws `session_required`, and what an agent's token meets at this endpoint. */
export const requireKnown = async ({ agents }: Pick<Endpoint, "agents">, { who }: RouteCall) => {
  if (who.kind === "none") throw new Problem("session_required");
  // Nothing here is an agent's own, so no delegation is looked for.
  if (who.kind === "bearer") await requireAgentMay(agents, who.caller, async () => false);
  return who;
};

/**
 * `POST /api/v1/routes/explain`: a dry run for oneself, or for another identity of the own tenant by whoever may see
 * everybody's decisions. Throws `access_denied`.
 */
export const answerExplain = async (
  parts: { readonly explain: ExplainRoute; readonly pdpClient: PdpClient },
  call: RouteCall,
): Promise<Response> => {
  const who = await requireKnown(explainRoute, call);
  const { inbound } = call;
  const ask = await readJson(inbound, explainRequest, MAX_BODY_BYTES);
  const isOther = ask.subject !== undefined && ask.subject.id !== who.principal.sub;
  if (isOther) await parts.pdpClient.require(who.principal, { type: "decisions", action: "view_all" }, inbound.correlationId);
  return reply(explainRoute, await parts.explain(ask, { who, inbound }));
};

/** `POST /api/v1/routes/reload`. Throws `routes_invalid` with every fault, `audit_unavailable`. */
export const answerReload = async (reload: ReloadRoutes, call: RouteCall): Promise<Response> => {
  const who = await requireKnown(reloadRoutes, call);
  const done = await reload({
    principal: who.principal,
    sessionRef: who.kind === "session" ? who.record.ref : undefined,
    routeId: call.route.id,
    correlationId: call.inbound.correlationId,
  });
  return reply(reloadRoutes, done);
};
