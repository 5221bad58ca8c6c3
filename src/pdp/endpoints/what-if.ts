import { whatIf } from "#contract/what-if.ts";
import { Problem } from "#contract/problem.ts";
import type { Router } from "#http/serve.ts";
import { isService } from "#authn/actor-kind.ts";
import { requireScope, type Caller } from "#authn/caller.ts";
import { rightsToAsk } from "#pdp/lifecycle/what-if/rights-to-ask.ts";
import { askWhatIf, type WhatIfParts } from "#pdp/lifecycle/what-if/what-if.ts";
import { createAskRights, type AskRightsParts } from "./ask-rights.ts";
import type { Serving } from "./serving.ts";

type WhatIfEndpoint = WhatIfParts & AskRightsParts & Pick<Serving, "guard" | "requirePair" | "rollouts" | "engines" | "viewers" | "pepOf">;

/**
 * What a change would give and take, for who may see every decision of the tenant, or could make the change to its own rights; by
 * another version for who may see policies too.
 */
export const serveWhatIf = (router: Router<Caller>, parts: WhatIfEndpoint): void => {
  const askRights = createAskRights(parts);
  router.serve(whatIf, async (call) => {
    const { body, caller } = call;
    const pep = parts.pepOf(caller);
    if (body.tenant_id !== undefined && !pep.isHouse && body.tenant_id !== caller.tenant) throw new Problem("access_denied");
    const tenant = pep.isHouse ? (body.tenant_id ?? caller.tenant) : caller.tenant;
    if (tenant === "*") throw new Problem("tenant_required");
    const isOpen = await parts.viewers.seesAll(pep);
    const wanting = isOpen ? [] : await rightsToAsk(caller, body, { askRights, facts: parts.facts });
    if (wanting.length > 0 && isService(caller)) requireScope(caller, ["pdp.decisions.read"]);
    for (const right of wanting) await parts.requirePair(caller, right, call.correlationId);
    const active = parts.engines.current();
    if (body.version === undefined) return askWhatIf(parts, body, tenant, active, active);
    await parts.guard(call, "view");
    const { version } = await parts.rollouts.requireAskable(body.version);
    return askWhatIf(parts, body, tenant, active, await parts.rollouts.versionOf(version));
  });
};
