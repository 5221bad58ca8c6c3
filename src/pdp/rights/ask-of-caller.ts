import type { Caller } from "#authn/model/caller.ts";
import { internalAsk, type Ask } from "#pdp/model/ask.ts";

/** What the decision point asks itself before it serves a caller: may this one do that here? Without an id, of the whole collection. */
export const askOfCaller = (
  caller: Caller,
  pep: string,
  pair: { readonly type: string; readonly action: string; readonly id?: string },
): Ask =>
  internalAsk({
    pep,
    bound: caller.tenant,
    subject: { type: "identity", id: caller.sub, tenant: caller.tenant },
    agents: [...caller.actors],
    action: pair.action,
    resource: { type: pair.type, id: pair.id ?? "*" },
    assurance: { acr: caller.acr, authTime: caller.authTime },
  });
