import type { DecisionRecord } from "#contract/decisions.ts";

/** The way a request takes, from the person to the application, and where it breaks. */

export type NodeRole = "person" | "agent" | "delegation" | "tool" | "app";
export type LinkState = "holds" | "broken" | "unknown";

export interface ChainNode {
  readonly role: NodeRole;
  readonly id: string;
  readonly name: string | undefined;
}

export interface ChainLink {
  readonly state: LinkState;
  /** Kinds of the edges behind it, e.g. HAS_CAPABILITY. */
  readonly kinds: readonly string[];
}

/** `links[i]` lies between `nodes[i]` and `nodes[i + 1]`. */
export interface Chain {
  readonly nodes: readonly ChainNode[];
  readonly links: readonly ChainLink[];
}

type Edge = NonNullable<DecisionRecord["edges"]>[number];
type Check = NonNullable<DecisionRecord["checks"]>[number]["name"];

const stateOf = (edges: readonly Edge[], failed: boolean): LinkState => {
  if (failed || edges.some((edge) => !edge.present)) return "broken";
  return edges.length > 0 ? "holds" : "unknown";
};

const MEMBERSHIP = ["BELONGS_TO", "MEMBER_OF", "GRANTS_ACCESS"];

/**
 * The chain of a decision about a tool or anything else. `undefined` where the viewer may not see the edges. A check
 * that failed breaks its link even where every edge is there (a paused delegation, a used-up budget).
 */
export const chainOf = (record: DecisionRecord): Chain | undefined => {
  const { edges, checks = [], subject, agent, resource } = record;
  if (edges === undefined || subject === undefined) return undefined;
  const hasFailed = (...names: readonly Check[]): boolean => checks.some((check) => names.includes(check.name) && check.outcome === "fail");
  const ofKind = (...kinds: readonly string[]): readonly Edge[] => edges.filter((edge) => kinds.includes(edge.kind));
  const link = (found: readonly Edge[], failed: boolean): ChainLink => ({
    state: stateOf(found, failed),
    kinds: [...new Set(found.map((edge) => edge.kind))],
  });

  const target: ChainNode = { role: "tool", id: resource.id ?? resource.ref ?? resource.type, name: undefined };
  const nodes: ChainNode[] = [{ role: "person", id: subject.id, name: subject.name }];
  const links: ChainLink[] = [];
  if (agent === undefined) {
    const found = ofKind(...MEMBERSHIP);
    links.push({
      ...link(found, hasFailed("subject", "policy") || !record.decision),
      ...(record.decision && found.length === 0 ? { state: "holds" as const } : {}),
    });
    nodes.push(target);
  } else {
    const delegations = ofKind("DELEGATES_TO");
    const delegation = delegations.find((edge) => edge.id !== undefined);
    const way = link(delegations, false);
    links.push(way);
    nodes.push({ role: "agent", id: agent.id, name: agent.name });
    if (delegation?.id !== undefined) {
      // One link breaks for one reason: an edge that is gone says all, else its status or limits do.
      const isUsable = !hasFailed("delegation", "steps", "budget");
      links.push({ state: way.state === "broken" ? "unknown" : isUsable ? "holds" : "broken", kinds: [] });
      nodes.push({ role: "delegation", id: delegation.id, name: undefined });
    }
    const capabilities = ofKind("HAS_CAPABILITY");
    links.push(link(capabilities, hasFailed("capability")));
    nodes.push(target);
  }
  for (const edge of ofKind("REQUIRES").slice(0, 1)) {
    links.push({ state: !edge.present || hasFailed("chain") ? "broken" : "holds", kinds: [edge.kind] });
    nodes.push({ role: "app", id: edge.to, name: undefined });
  }
  return { nodes, links };
};
