import { edgeKindNames } from "#membership/model/kinds.ts";
import type { Path } from "#membership/graph/graph-reader.ts";
import { edgeKindNumber } from "./edges.ts";
import type { View } from "./view.ts";

export type Direction = "out" | "in" | "both";
type Visit = (edge: number, other: number) => void;

/** A kind's place among the names of all: the order in which steps are compared. */
export const kindRank: readonly number[] = ((sorted) => edgeKindNames.map((kind) => sorted.indexOf(kind)))(edgeKindNames.toSorted());

/** Visits the edges of a node that lead on: of the walked kinds (none named: all), unended, to what is seen; a delegation that is not live leads nowhere. */
export const createTraversal = ({ graph, now, sight }: View, types: readonly string[]) => {
  const { edges, nodes, delegations } = graph;
  const kinds = new Set(types.map(edgeKindNumber));
  const isWay = (edge: number, other: number): boolean =>
    (kinds.size === 0 || kinds.has(edges.kind(edge))) &&
    nodes.isSeen(other, sight) &&
    !edges.isOver(edge, now) &&
    (!graph.isDelegation(edge) || delegations.isLive(graph.delegationOf(edge), now));
  return (node: number, direction: Direction, visit: Visit): void => {
    if (direction !== "in")
      for (let at = edges.out.start(node); at < edges.out.end(node); at++) {
        const edge = edges.out.at(at);
        if (isWay(edge, edges.target(edge))) visit(edge, edges.target(edge));
      }
    if (direction !== "out")
      for (let at = edges.in.start(node); at < edges.in.end(node); at++) {
        const edge = edges.in.at(at);
        if (isWay(edge, edges.source(edge))) visit(edge, edges.source(edge));
      }
  };
};

export const briefOf = ({ graph: { nodes } }: View, node: number): Path["nodes"][number] => ({
  id: nodes.names.nameOf(node),
  name: nodes.name(node),
  node_type: nodes.kindName(node),
  state: nodes.state(node),
});

export const stepOf = ({ graph: { nodes, edges } }: View, edge: number): Path["edges"][number] => ({
  id: edges.id(edge),
  kind: edges.kindName(edge),
  from: nodes.names.nameOf(edges.source(edge)),
  to: nodes.names.nameOf(edges.target(edge)),
});
