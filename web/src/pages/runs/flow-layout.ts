import { Graph, layout } from "@dagrejs/dagre";

export interface FlowNode {
  readonly id: string;
}
export interface FlowEdge {
  readonly from: string;
  readonly to: string;
}

/** Which way the flow runs: to the right, or down on a narrow screen. */
export type Direction = "LR" | "TB";

export interface Layout {
  /** Upper left corners, by node. */
  readonly places: ReadonlyMap<string, { readonly x: number; readonly y: number }>;
  readonly width: number;
  readonly height: number;
}

/** All nodes have this size, in pixels. */
export const NODE = { width: 164, height: 52 } as const;

/** Edges whose two ends are there. */
export const joined = <E extends FlowEdge>(nodes: readonly FlowNode[], edges: readonly E[]): readonly E[] => {
  const ids = new Set(nodes.map(({ id }) => id));
  return edges.filter(({ from, to }) => ids.has(from) && ids.has(to));
};

/** Places for the nodes of a flow in layers. An edge without its ends counts for nothing. */
export const layOut = (nodes: readonly FlowNode[], edges: readonly FlowEdge[], direction: Direction): Layout => {
  const graph = new Graph();
  graph.setGraph({ rankdir: direction, nodesep: 22, ranksep: direction === "LR" ? 40 : 30, marginx: 8, marginy: 8 });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const { id } of nodes) graph.setNode(id, { ...NODE });
  for (const { from, to } of joined(nodes, edges)) graph.setEdge(from, to);
  layout(graph);
  const places = nodes.map(({ id }) => {
    const { x, y } = graph.node(id) as { readonly x: number; readonly y: number };
    return [id, { x: x - NODE.width / 2, y: y - NODE.height / 2 }] as const;
  });
  const { width = 0, height = 0 } = graph.graph() as { readonly width?: number; readonly height?: number };
  return { places: new Map(places), width, height };
};
