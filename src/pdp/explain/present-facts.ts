import type { Facts } from "#contract/facts.ts";
import type { Ask } from "#pdp/ask.ts";
import type { FactSource } from "#pdp/facts/fact-source.ts";
import { informAsks } from "#pdp/facts/gather.ts";
import type { DecisionFacts } from "#pdp/records/decision-facts.ts";
import type { Recorded } from "#pdp/records/record.ts";
import type { Vocabulary } from "#pdp/vocabulary.ts";

/** Puts a recorded question to the graph as it is; `undefined` where its resource cannot be named any more. */
export const createPresentFacts =
  (parts: { readonly facts: FactSource; readonly decisions: DecisionFacts; readonly vocabulary?: Vocabulary }) =>
  async (recorded: Recorded): Promise<Facts | undefined> => {
    if (recorded.resourceId === undefined) return undefined;
    const { items } = await informAsks([askAgain(recorded, recorded.resourceId)], parts);
    return items[0]?.facts;
  };

const askAgain = (recorded: Recorded, resourceId: string): Ask => ({
  pep: recorded.pep,
  bound: "*",
  subject: { type: "identity", id: recorded.subject, tenant: recorded.tenant },
  agents: recorded.item.request?.agents ?? (recorded.agent === undefined ? [] : [recorded.agent]),
  action: recorded.item.action,
  resource: { type: recorded.item.type, id: resourceId },
  assurance: {},
  vouched: {
    could: recorded.item.inputs.could,
    toolsScope: recorded.item.inputs.tools_scope,
    assigned: recorded.item.inputs.assigned,
    costMicro: recorded.item.inputs.cost_micro,
    approval: false,
  },
  props: {},
  claimed: {},
  ui: {},
  supported: "all",
});
