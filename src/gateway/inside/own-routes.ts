import { Problem } from "#contract/problem.ts";
import { explainRequest, explainRoute, reloadRoutes } from "#contract/routes.ts";
import type { Decider } from "#pdp/decide.ts";
import type { ReloadRoutes } from "#gateway/join/reload-routes.ts";
import { readJson } from "#gateway/read-body.ts";
import { reply } from "#gateway/reply.ts";
import type { ExplainRoute } from "#gateway/routes-explained/explain-route.ts";
import type { RouteCall } from "#gateway/serve-route.ts";

const MAX_BODY_BYTES = 262_144;

const known = ({ who }: RouteCall) => {
  if (who.kind === "none") throw new Problem("session_required");
  return who;
};

/**
 * `POST /api/v1/routes/explain`: a dry run for oneself, or for another identity of the own tenant by whoever may see
 * everybody's decisions. Throws `access_denied`.
 */
export const answerExplain = async (
  parts: { readonly explain: ExplainRoute; readonly decider: Decider },
  call: RouteCall,
): Promise<Response> => {
  const who = known(call);
  const { inbound } = call;
  const ask = await readJson(inbound, explainRequest, MAX_BODY_BYTES);
  const isOther = ask.subject !== undefined && ask.subject.id !== who.asker.sub;
  if (isOther) await parts.decider.require(who.asker, { type: "decisions", action: "view_all" }, inbound.correlationId);
  return reply(explainRoute, await parts.explain(ask, { who, inbound }));
};

/** `POST /api/v1/routes/reload`. Throws `routes_invalid` with every fault, `audit_unavailable`. */
export const answerReload = async (reload: ReloadRoutes, call: RouteCall): Promise<Response> => {
  const who = known(call);
  const done = await reload({
    asker: who.asker,
    ...(who.kind === "session" ? { sessionRef: who.record.ref } : {}),
    routeId: call.route.id,
    correlationId: call.inbound.correlationId,
  });
  return reply(reloadRoutes, done);
};
