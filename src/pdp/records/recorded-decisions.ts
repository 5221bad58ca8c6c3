import type { Facts } from "#contract/facts.ts";
import { bareResource } from "#pdp/facts/no-facts.ts";
import type { DecisionFacts } from "./decision-facts.ts";
import type { DecisionLog } from "./decision-log.ts";

/** A tool call fetches its secrets at its start; a permit older than this is for something else. */
const CALL_SECONDS = 300;

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
    if (recorded === undefined || !recorded.item.decision) return undefined;
    const isCall = recorded.item.type === "tool" && recorded.item.action === "tools/call" && recorded.resourceId === tool;
    const age = (now().getTime() - Date.parse(recorded.decided_at)) / 1000;
    return isCall && recorded.pep === pep && age <= CALL_SECONDS ? { tenant: recorded.tenant } : undefined;
  },
});
