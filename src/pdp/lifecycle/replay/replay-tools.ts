import type { BodyOf, ReplyOf } from "#contract/endpoint.ts";
import type { Facts } from "#contract/facts.ts";
import { microFromUsd } from "#contract/ids.ts";
import type { replayTools as endpoint } from "#contract/replay-tools.ts";
import { createYielding } from "#http/yielding.ts";
import type { Engine } from "#pdp/engine/engine.ts";
import { countIn, newTally } from "#pdp/lifecycle/compare/outcome.ts";
import type { DecisionLog } from "#pdp/records/decision-log.ts";
import type { ListPosition } from "#pdp/records/list-calls.ts";
import type { Recorded } from "#pdp/records/record.ts";
import { decideAgain } from "./decide-again.ts";

type Body = BodyOf<typeof endpoint>;
type ToolChange = Body["tools"][number];

const MAX_EXAMPLES = 20;
/** Pages of records that are looked through for decisions on these tools. */
const MAX_PAGES = 4;
const pause = createYielding(8);

/** The newest enforced calls of these tools. */
const newest = async (
  records: Pick<DecisionLog, "list">,
  { tenant_id: tenant, tools, limit }: Body,
): Promise<{ readonly recorded: readonly Recorded[]; readonly complete: boolean }> => {
  const found: Recorded[] = [];
  const resources = tools.map(({ tool_id: id }) => id);
  let after: ListPosition | undefined;
  for (let pages = 0; pages < MAX_PAGES; pages++) {
    const page = await records.list({
      tenant,
      type: "tool",
      action: "tools/call",
      resources,
      enforced: true,
      limit: limit - found.length,
      ...(after === undefined ? {} : { after }),
    });
    found.push(...page.recorded);
    after = page.next;
    if (after === undefined || found.length >= limit) return { recorded: found, complete: true };
  }
  return { recorded: found, complete: false };
};

/** What the graph would have said. */
const factsAfter = (facts: Facts, { state, drifted_for: drifted }: ToolChange, agent: string | undefined): Facts => ({
  ...facts,
  capability: facts.capability && state === "approved",
  definition_ok: facts.definition_ok && !(agent !== undefined && drifted.includes(agent)),
  resource: facts.resource === null ? null : { ...facts.resource, attributes: { ...facts.resource.attributes, state } },
});

const costOf = ({ cost_usd: cost }: ToolChange["after"], before: number): number =>
  typeof cost === "number" ? Number(microFromUsd(cost)) : before;

/**
 * Recorded calls of tools decided twice by the version that decides now, on the facts they had: with the tool as it is, and as it would
 * be. So that nothing shows but what the tool's change makes. Nothing is written.
 */
export const replayTools = async (
  parts: { readonly records: Pick<DecisionLog, "list" | "factsOfAll" | "emptyContext">; readonly engine: Engine },
  body: Body,
): Promise<ReplyOf<typeof endpoint>> => {
  const { records, engine } = parts;
  const changes = new Map(body.tools.map((tool) => [tool.tool_id, tool]));
  const { recorded, complete } = await newest(records, body);
  const kept = await records.factsOfAll(recorded);
  const counts = newTally();
  const examples: ReplyOf<typeof endpoint>["examples"] = [];
  for (const one of recorded) {
    await pause();
    const { item } = one;
    const change = changes.get(item.id ?? "");
    if (change === undefined) continue;
    counts.evaluated += 1;
    const facts = item.facts === undefined ? undefined : kept.get(item.facts);
    const costMicro = costOf(change.after, item.inputs.cost_micro);
    const next = { ...one, item: { ...item, inputs: { ...item.inputs, cost_micro: costMicro } } };
    const before = decideAgain(one, facts, engine, records.emptyContext, change.before);
    const after =
      facts === undefined ? undefined : decideAgain(next, factsAfter(facts, change, one.agent), engine, records.emptyContext, change.after);
    if (before === undefined || after === undefined) counts.not_replayable += 1;
    else if (countIn(counts, before, after) && examples.length < MAX_EXAMPLES)
      examples.push({
        decision_id: one.decision_id,
        tool: change.tool_id,
        before: { decision: before.decision, reason: before.reason },
        after: { decision: after.decision, reason: after.reason },
      });
  }
  return { ...counts, examples, complete };
};
