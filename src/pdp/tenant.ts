import type { Facts } from "#contract/facts.ts";
import type { Ask } from "./decision-point.ts";

/**
 * The tenant that a decision is made in, or `undefined` when the subject is not to be placed. It is always one that the graph
 * says the subject belongs to; an enforcement point that is bound to a tenant learns nothing of other tenants' subjects.
 * A service of the house belongs to none: it has the tenant of the tool call it acts for, else `*`, in which nothing but
 * what is shared can be reached.
 */
export const tenantOf = (ask: Ask, subject: Facts["subject"], toolTenant: string | undefined): string | undefined => {
  if (subject === null) return undefined;
  const stated = ask.subject.tenant;
  if (subject.kind === "Service" && subject.tenant_ids.length === 0) {
    return ask.bound === "*" && (stated === undefined || stated === "*") ? (toolTenant ?? "*") : undefined;
  }
  const wanted = stated ?? (ask.bound === "*" ? (subject.tenant_ids.length === 1 ? subject.tenant_ids[0] : undefined) : ask.bound);
  if (wanted === undefined || !subject.tenant_ids.includes(wanted)) return undefined;
  return ask.bound === "*" || ask.bound === wanted ? wanted : undefined;
};
