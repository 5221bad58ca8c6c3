import { Problem } from "#contract/problem.ts";
import type { Caller } from "#authn/model/caller.ts";

/**
 * Who uses the tool protocol is an agent, a service of Sallyport, or a client of the first party; a token that some other
 * client got hold of opens nothing here. A token of this deployment's own key carries no foreign client. Throws `unknown_client`.
 */
export const guardClient = (
  caller: Pick<Caller, "agent" | "clientId" | "isInternalService" | "sub">,
  firstParty: readonly string[],
): void => {
  if (caller.agent !== undefined || caller.isInternalService || caller.clientId === undefined) return;
  if (caller.clientId === caller.sub || caller.clientId.startsWith("service:") || firstParty.includes(caller.clientId)) return;
  throw new Problem("unknown_client");
};
