import { explainTool } from "#contract/tools.ts";
import type { Caller } from "#authn/model/caller.ts";
import type { Router } from "#http/serve.ts";
import { requireView } from "./call/steps/resolve-tool.ts";
import type { CatalogueKeeper } from "./catalogue-store.ts";
import { explainSteps, type ExplainParts } from "./explain-tool.ts";
import { scopes } from "./tool-service.ts";

/** Somebody else, as far as it can be said without their token: no assurance, the scopes of the tool protocol. */
const someoneElse = (caller: Caller, userId: string | undefined, agent: string | undefined): Caller => {
  const { agent: _agent, acr: _acr, authTime: _authTime, ...rest } = caller;
  return {
    ...rest,
    sub: userId ?? caller.sub,
    scopes: new Set(Object.values(scopes)),
    actors: agent === undefined ? [] : [agent],
    amr: [],
    agent,
  };
};

/** About oneself everybody may ask; about others whoever may explain tools. */
export const serveExplanation = (router: Router<Caller>, parts: ExplainParts & { readonly catalogue: CatalogueKeeper }): void => {
  router.serve(explainTool, async ({ caller, query, correlationId }) => {
    const { snapshot } = parts.catalogue;
    const view = requireView(snapshot, query.view ?? "", caller.tenant);
    const isSelf =
      (query.user_id === undefined || query.user_id === caller.sub) && (query.agent_id === undefined || query.agent_id === caller.agent);
    if (!isSelf) await parts.pdpClient.require(caller, { type: "tool", action: "explain" }, correlationId);
    const ask = { viewer: caller, isSelf, view, snapshot, name: query.tool, correlationId };
    if (isSelf) return explainSteps({ ...ask, subject: caller }, parts);
    // No token names these two: whoever is of another tenant must look as if nobody of that name were there.
    return explainSteps({ ...ask, subject: someoneElse(caller, query.user_id, query.agent_id) }, { ...parts, within: caller });
  });
};
