import type { FactAsk, Facts } from "#contract/facts.ts";
import type { FactSource } from "#pdp/facts/fact-source.ts";
import type { RequestRow } from "#pdp/records/request-store.ts";

/** Asks for the very delegation, whatever others there are. */
const delegationAsk = (row: RequestRow): FactAsk => ({
  subject_id: row.subject,
  agent_ids: [...row.agents],
  action: row.action,
  resource: { type: row.resource_type, external_id: row.resource_id ?? "*" },
  tenant_id: row.tenant,
  delegation_id: row.delegation_id ?? undefined,
});

/** A paused one may go on; one that is revoked or over, or not there, never does. */
const hasEnded = (delegation: Facts["delegation"] | undefined, row: RequestRow): boolean =>
  delegation !== undefined && (delegation?.id !== row.delegation_id || delegation.status === "revoked" || delegation.status === "expired");

/** Those of the rows that rest on a delegation which has ended: nothing will be permitted by them. One question to the graph, or none. */
export const findEnded = async (facts: Pick<FactSource, "gather">, rows: readonly RequestRow[]): Promise<readonly RequestRow[]> => {
  const resting = rows.filter((row) => row.delegation_id !== null);
  if (resting.length === 0) return [];
  const gathered = (await facts.gather(resting.map(delegationAsk))).facts;
  return resting.filter((row, index) => hasEnded(gathered[index]?.delegation, row));
};
