import type { Facts } from "#contract/facts.ts";

/** What is known of nobody, and of nothing. */
export const noFacts: Facts = {
  subject: null,
  agent: null,
  capability: false,
  chain: false,
  definition_ok: false,
  delegation: null,
  resource: null,
  edges: [],
};

/** A thing of which no more is known; what is of no tenant is everybody's. */
export const bareResource = (
  id: string,
  kind: string,
  tenants: readonly string[],
  owners: readonly string[] = [],
): NonNullable<Facts["resource"]> => ({
  node_id: id,
  kind,
  name: id,
  tenant_ids: [...tenants],
  owners: [...owners],
  granted: false,
  attributes: {},
});
