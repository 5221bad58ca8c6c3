import { whatIf } from "#contract/what-if.ts";
import { Problem } from "#contract/problem.ts";
import type { Router } from "#http/serve.ts";
import { isService } from "#authn/model/actor-kind.ts";
import { requireScope, type Caller } from "#authn/model/caller.ts";
import { rightsToAsk } from "#pdp/rights/rights-to-ask.ts";
import { askWhatIf, type WhatIfParts } from "#pdp/lifecycle/what-if/what-if.ts";
import { createAskRights, type AskRightsParts } from "#pdp/rights/ask-rights.ts";
import { quietly } from "#pdp/rights/policy-sight.ts";
import type { Serving } from "#pdp/context/serving.ts";

type WhatIfEndpoint = WhatIfParts &
  AskRightsParts &
  Pick<Serving, "guard" | "sightOf" | "requirePair" | "rollouts" | "engines" | "viewers" | "pepOf">;

const viewsDecisions = { type: "decisions", action: "view_all" } as const;
const viewsPolicies = { type: "policies", action: "view" } as const;

/**
 * What a change would give and take, for who may see every decision of the tenant or its policies, or could make the change to its own
 * rights; by another version for who may see policies, naming those that the caller sees. Whom it is about is of the caller's tenant.
 */
export const serveWhatIf = (router: Router<Caller>, parts: WhatIfEndpoint): void => {
  const askRights = createAskRights(parts);
  router.serve(whatIf, async (call) => {
    const { body, caller } = call;
    const pep = parts.pepOf(caller);
    if (body.tenant_id !== undefined && !pep.isInternal && body.tenant_id !== caller.tenant) throw new Problem("access_denied");
    const tenant = pep.isInternal ? (body.tenant_id ?? caller.tenant) : caller.tenant;
    if (tenant === "*") throw new Problem("tenant_required");
    const isOpen = await parts.viewers.seesAll(pep);
    const [sees, reads] = isOpen ? [] : await askRights(caller, [viewsDecisions, viewsPolicies]);
    const wanting =
      isOpen || (sees === "denied" && reads === "granted") ? [] : await rightsToAsk(caller, body, { askRights, facts: parts.facts });
    if (wanting.length > 0 && isService(caller)) requireScope(caller, ["pdp.decisions.read"]);
    for (const right of wanting) await parts.requirePair(caller, right, call.correlationId);
    const active = parts.engines.current();
    if (body.version === undefined) return askWhatIf(parts, body, tenant, active, active);
    await parts.guard(call, "view");
    const sight = await parts.sightOf(caller);
    const { version } = await quietly(sight, parts.rollouts.requireAskable(body.version));
    const next = await parts.rollouts.versionOf(version);
    const reply = await askWhatIf(parts, body, tenant, active, next);
    const policies = [active, next].flatMap(({ engine }) => [...engine.bundle.policies.values()]);
    const shown = new Set((await sight.shown(policies)).map(({ id }) => id));
    const named = (rows: typeof reply.gained) => rows.map(({ via, ...row }) => ({ ...row, via: via.filter((id) => shown.has(id)) }));
    return { ...reply, gained: named(reply.gained), lost: named(reply.lost) };
  });
};
