import { permitsCall } from "#contract/decisions.ts";
import type { Facts } from "#contract/facts.ts";
import { bareResource } from "#pdp/facts/no-facts.ts";
import type { DecisionFacts } from "#pdp/model/decision-facts.ts";
import type { DecisionLog } from "./decision-log.ts";

/** What policies may ask of earlier decisions, out of the log. */
export const createRecordedDecisions = (log: DecisionLog, now: () => Date): DecisionFacts => ({
  resources: async (ids) => {
    const found = await log.find(ids);
    const resources = new Map<string, NonNullable<Facts["resource"]>>();
    for (const [id, recorded] of found) {
      const agent = (await log.factsOf(recorded))?.agent;
      resources.set(id, bareResource(id, "Decision", [recorded.tenant], [recorded.subject, ...(agent?.controllers ?? [])]));
    }
    return resources;
  },
  permittedCall: async (decisionId, tool, pep) => {
    const recorded = (await log.find([decisionId])).get(decisionId);
    if (recorded === undefined) return undefined;
    const { item, resourceId } = recorded;
    const decided = { ...recorded, decision: item.decision, action: item.action, resource: { type: item.type, id: resourceId } };
    return permitsCall(decided, { tool, by: pep }, now()) ? { tenant: recorded.tenant } : undefined;
  },
});
