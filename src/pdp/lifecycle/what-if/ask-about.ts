import { internalAsk, vouchesNothing, type Ask } from "#pdp/model/ask.ts";
import type { Engine } from "#pdp/engine/engine.ts";
import type { Pair } from "#pdp-client/pairs.ts";

/** One pair of one thing, or (`*`) of the whole collection. */
export interface Target {
  readonly pair: Pair;
  readonly id: string;
}

/** Things that the policies of a pair name themselves: they are permitted, or refused, without an edge that leads to them. */
export const namedByPolicies = ({ bundle, slice }: Pick<Engine, "bundle" | "slice">, pair: Pair): readonly string[] => {
  const type = `${pair.entity}::`;
  if (pair.of === "all" || !bundle.schema.actions.has(pair.key)) return [];
  return [...slice(pair.key).entities].flatMap((named) => (named.startsWith(type) ? [named.slice(type.length)] : []));
};

/** A question that nobody asked, about what somebody may: with the tools' scope, and nothing that a client sends. */
export const askAbout = (
  who: { readonly subject_id: string; readonly agent_id?: string | undefined },
  tenant: string,
  { pair, id }: Target,
): Ask =>
  internalAsk({
    pep: "service:pdp",
    bound: tenant,
    subject: { type: "identity", id: who.subject_id, tenant },
    agents: who.agent_id === undefined ? [] : [who.agent_id],
    action: pair.action,
    resource: { type: pair.type, id },
    vouched: { ...vouchesNothing, toolsScope: true },
  });
