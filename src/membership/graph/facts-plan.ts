import type { FactAsk } from "#contract/facts.ts";
import type { SqlValue } from "#store/database.ts";

/** How the resource of an ask is looked up: as a node by its id, as a Resource by type and external id, as a delegation, or not at all. */
export type Lookup =
  | { readonly by: "node"; readonly id: string; readonly kinds: readonly string[] }
  | { readonly by: "resource"; readonly type: string; readonly externalId: string }
  | { readonly by: "delegation"; readonly id: string }
  | { readonly by: "none" };

const nodeTypes: Readonly<Record<string, readonly string[]>> = {
  tool: ["Tool"],
  agents: ["AIAgent"],
  mcp_server: ["MCPService"],
  /** Any node: what an identity search can show. */
  identities: [],
};

/** `*` asks about the type itself. Creating a delegation names its agent; everything else about delegations names the delegation. */
export const lookupOf = (ask: FactAsk): Lookup => {
  const { type, external_id: id } = ask.resource;
  if (id === "*") return { by: "none" };
  if (type === "delegations") return ask.action === "create" ? { by: "node", id, kinds: ["AIAgent"] } : { by: "delegation", id };
  const kinds = Object.hasOwn(nodeTypes, type) ? nodeTypes[type] : undefined;
  return kinds === undefined ? { by: "resource", type, externalId: id } : { by: "node", id, kinds };
};

/** One delegation that an ask needs: from whom to which agent, for which tool ('' = none), pinned to which ('' = none). */
export interface AskedHop {
  readonly delegator: string;
  readonly agent: string;
  readonly tool: string;
  readonly pin: string;
  /** Who stands at the top: of several persons' delegations between the same two agents those of this one count. */
  readonly person: string;
}

/** The hops of an ask, from the person on. The pin is that of the last hop, under which the outermost agent acts. */
export const askedHopsOf = (ask: FactAsk): readonly AskedHop[] => {
  const agents = (ask.agent_ids ?? []).toReversed();
  const tool = ask.resource.type === "tool" && ask.resource.external_id !== "*" ? ask.resource.external_id : "";
  return agents.map((agent, index) => ({
    delegator: index === 0 ? ask.subject_id : (agents[index - 1] ?? ""),
    agent,
    tool,
    pin: index === agents.length - 1 ? (ask.delegation_id ?? "") : "",
    person: ask.subject_id,
  }));
};

const keyOf = (hop: AskedHop): string => JSON.stringify([hop.delegator, hop.agent, hop.tool, hop.pin, hop.person]);

export interface FactPlan {
  /** Parameters of the statement, without the tenant. */
  readonly values: readonly SqlValue[];
  /** Number of a hop in the statement's answer. */
  readonly numberOf: (hop: AskedHop) => number;
}

/** Gathers what the asks need, each thing once. */
export const planFacts = (asks: readonly FactAsk[]): FactPlan => {
  const nodes = new Set<string>();
  const subjects = new Set<string>();
  const resources = new Map<string, { type: string; externalId: string }>();
  const delegations = new Set<string>();
  const types = new Set<string>();
  const hops = new Map<string, { hop: AskedHop; number: number }>();
  for (const ask of asks) {
    for (const id of [ask.subject_id, ...(ask.agent_ids ?? [])]) {
      nodes.add(id);
      subjects.add(id);
    }
    types.add(ask.resource.type);
    const lookup = lookupOf(ask);
    if (lookup.by === "node") nodes.add(lookup.id);
    if (lookup.by === "resource") resources.set(JSON.stringify([lookup.type, lookup.externalId]), lookup);
    if (lookup.by === "delegation") delegations.add(lookup.id);
    for (const hop of askedHopsOf(ask)) {
      const key = keyOf(hop);
      if (!hops.has(key)) hops.set(key, { hop, number: hops.size + 1 });
    }
  }
  const column = (name: keyof AskedHop): string[] => [...hops.values()].map(({ hop }) => hop[name]);
  return {
    values: [
      [...nodes],
      [...subjects],
      [...resources.values()].map(({ type }) => type),
      [...resources.values()].map(({ externalId }) => externalId),
      column("delegator"),
      column("agent"),
      column("tool"),
      column("pin"),
      [...delegations],
      [...types],
      column("person"),
    ],
    numberOf: (hop) => hops.get(keyOf(hop))?.number ?? 0,
  };
};
