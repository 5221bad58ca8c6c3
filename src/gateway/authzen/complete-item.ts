import { actingAgents, type Principal } from "#pdp-client/pdp-client.ts";
import { isInternalMember } from "#pdp-client/internal-context.ts";
import type { FacadeItem } from "./parse-evaluations.ts";

type Members = Readonly<Record<string, unknown>>;

export interface Completed {
  readonly question: Members;
  /** Members of the context that were dropped. */
  readonly dropped: readonly string[];
}

/** The subject as the decision point is told it: always the caller's own. */
export const subjectOf = (principal: Principal) => ({
  type: "identity",
  id: principal.sub,
  properties: {
    tenant: principal.tenant,
    amr: [...principal.amr],
    acr: principal.acr,
    auth_time: principal.authTime,
  },
});

/** The context as Sallyport sends it: what only Sallyport may say is said anew, of the caller if there is one. */
export const completeContext = (
  sent: Members,
  claimed: Members,
  principal: Principal | undefined,
): { readonly context: Members; readonly dropped: readonly string[] } => {
  const dropped: string[] = [];
  const context: Record<string, unknown> = {};
  for (const name of Object.keys(sent)) {
    if (isInternalMember(name)) dropped.push(name);
    else Object.defineProperty(context, name, { value: sent[name], enumerable: true, configurable: true });
  }
  const own =
    principal === undefined
      ? {}
      : {
          scopes: [...principal.scopes],
          ...actingAgents(principal),
          client: principal.clientId === undefined ? undefined : { client_id: principal.clientId },
        };
  return { context: { ...context, claimed, ...own }, dropped };
};

/**
 * Makes a client's question Sallyport's own: its subject is the caller, what it claims is marked as claimed, and what only
 * Sallyport may say is dropped and said anew. Without an id it is about all of the type; where the pair needs one, the
 * decision point refuses that as `resource_id_required`, on record. `showing`: it is asked in order to draw a page, so nobody is
 * refused by the answer.
 */
export const completeItem = (item: FacadeItem, principal: Principal, correlationId: string, showing: boolean): Completed => {
  const { context, dropped } = completeContext(item.context, { ...item.action.properties, ...item.resource.properties }, principal);
  return {
    dropped,
    question: {
      subject: subjectOf(principal),
      action: { name: item.action.name },
      resource: { type: item.resource.type, id: item.resource.id ?? "*" },
      context: { ...context, correlation_id: correlationId, showing: showing || undefined },
    },
  };
};
