import type { Asked, GraphReader } from "#membership/graph/graph-reader.ts";
import type { TenantScope } from "#membership/graph/tenant-scope.ts";
import { DELEGATES_TO } from "./edges.ts";
import type { Seen } from "./feed.ts";
import type { Rows } from "./rows.ts";

/** One tenant's sight of the graph at one moment. Everything that is asked of the index is asked of this. */
export interface View extends Seen {
  readonly sight: number;
}

/** A question as the index answers it. */
export type IndexAnswer<Q extends keyof GraphReader> = (view: View, asked: Asked<Q>) => Awaited<ReturnType<GraphReader[Q]>>;

export const viewOf = ({ graph, version, now }: Seen, scope: TenantScope): View => ({
  graph,
  version,
  now,
  sight: graph.nodes.sightOf(scope.tenant),
});

/** The node's number; -1: it is not there, or not for this sight. */
export const seenNode = ({ graph, sight }: View, id: string): number => {
  const node = graph.nodes.names.find(id);
  return node !== -1 && graph.nodes.isSeen(node, sight) ? node : -1;
};

export const isActive = ({ graph, sight }: View, node: number): boolean => graph.nodes.isSeen(node, sight) && graph.nodes.isActive(node);

/** Edges of a kind in a row of a node that have not ended. */
const each = ({ graph: { edges }, now }: View, rows: Rows, node: number, kind: number, visit: (edge: number) => void): void => {
  const end = edges.to(rows, node, kind);
  for (let at = edges.from(rows, node, kind); at < end; at++) {
    const edge = rows.at(at);
    if (!edges.isOver(edge, now)) visit(edge);
  }
};
export const eachOut = (view: View, node: number, kind: number, visit: (edge: number) => void): void =>
  each(view, view.graph.edges.out, node, kind, visit);
export const eachIn = (view: View, node: number, kind: number, visit: (edge: number) => void): void =>
  each(view, view.graph.edges.in, node, kind, visit);

/** Delegations from the one to the other (or any), whatever their status. */
export const delegationsBetween = ({ graph }: View, user: number, agent: number | undefined): readonly number[] => {
  const { edges } = graph;
  const found: number[] = [];
  const end = edges.to(edges.out, user, DELEGATES_TO);
  for (let at = edges.from(edges.out, user, DELEGATES_TO); at < end; at++) {
    const edge = edges.out.at(at);
    if (agent === undefined || edges.target(edge) === agent) found.push(graph.delegationOf(edge));
  }
  return found;
};

/** Ids of nodes in byte order. */
export const idsOf = ({ graph }: View, nodes: ReadonlySet<number>): string[] =>
  Array.from(nodes, (node) => graph.nodes.names.nameOf(node)).sort();

/** When the answer changes by the clock alone: the soonest of these that is to come. */
export const soonest = (now: number): { add(at: number): void; text(): string | null } => {
  let least = Infinity;
  return {
    add: (at) => {
      if (at > now && at < least) least = at;
    },
    text: () => (least === Infinity ? null : new Date(least).toISOString()),
  };
};
