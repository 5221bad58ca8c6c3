import type { Facts } from "#contract/facts.ts";
import { internalAsk, type Ask } from "#pdp/model/ask.ts";
import type { FactSource } from "#pdp/facts/fact-source.ts";
import { informAsks } from "#pdp/facts/gather.ts";
import type { DecisionFacts } from "#pdp/model/decision-facts.ts";
import type { Recorded } from "#pdp/records/record.ts";
import type { Vocabulary } from "#pdp/engine/vocabulary.ts";

/** Puts a recorded question to the graph as it is; `undefined` where its resource cannot be named any more. */
export const createPresentFacts =
  (parts: { readonly facts: FactSource; readonly decisions: DecisionFacts; readonly vocabulary?: Vocabulary }) =>
  async (recorded: Recorded): Promise<Facts | undefined> => {
    if (recorded.resourceId === undefined) return undefined;
    const { items } = await informAsks([askAgain(recorded, recorded.resourceId)], parts);
    return items[0]?.facts;
  };

const askAgain = ({ pep, subject, tenant, agent, item }: Recorded, resourceId: string): Ask =>
  internalAsk({
    pep,
    bound: "*",
    subject: { type: "identity", id: subject, tenant },
    agents: item.request?.agents ?? (agent === undefined ? [] : [agent]),
    action: item.action,
    resource: { type: item.type, id: resourceId },
    vouched: {
      could: item.inputs.could,
      toolsScope: item.inputs.tools_scope,
      assigned: item.inputs.assigned,
      costMicro: item.inputs.cost_micro,
      approval: false,
    },
  });
