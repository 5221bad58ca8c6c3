import { compareTexts } from "#membership/graph/graph-reader.ts";
import { MAX_EXPLORED } from "#membership/graph/sql-path.ts";
import { seenNode, type IndexAnswer, type View } from "./view.ts";
import { briefOf, createTraversal, stepOf } from "./traverse.ts";

interface Named {
  readonly node: number;
  readonly id: string;
}
const byId = (one: Named, other: Named): number => compareTexts(one.id, other.id);

/** The first so many by id. Of very many only those are kept that may be among them. */
const firstOf = (view: View, found: Iterable<number>, max: number): readonly number[] => {
  let kept: Named[] = [];
  let least: string | undefined;
  const cut = (): void => {
    kept = kept.sort(byId).slice(0, max);
    if (kept.length === max) least = kept.at(-1)?.id;
  };
  for (const node of found) {
    const id = view.graph.nodes.names.nameOf(node);
    if (least !== undefined && id > least) continue;
    kept.push({ node, id });
    if (kept.length >= max * 2 + 1024) cut();
  }
  cut();
  return kept.map(({ node }) => node);
};

/** Breadth first; of a level that is too large the nodes with the smallest ids are taken. */
export const answerNear: IndexAnswer<"near"> = (view, ask) => {
  const { graph, version } = view;
  const start = seenNode(view, ask.id);
  if (start === -1) return { version, value: undefined };
  const eachWay = createTraversal(view, ask.types);
  const distances = new Map([[start, 0]]);
  const seen = new Set<number>();
  let frontier: readonly number[] = [start];
  let truncated = false;
  for (let hop = 1; hop <= ask.hops && frontier.length > 0 && !truncated; hop++) {
    const reached = new Set<number>();
    let looked = 0;
    for (const node of frontier) {
      eachWay(node, ask.direction, (edge, other) => {
        if (++looked > MAX_EXPLORED) return;
        seen.add(edge);
        if (!distances.has(other)) reached.add(other);
      });
      if (looked >= MAX_EXPLORED) break;
    }
    const capacity = ask.limit - distances.size;
    truncated = reached.size > capacity;
    frontier = truncated ? firstOf(view, reached, Math.max(0, capacity)) : [...reached];
    for (const node of frontier) distances.set(node, hop);
  }
  const nodes = [...distances]
    .map(([node, distance]) => ({ ...briefOf(view, node), distance }))
    .sort((one, other) => one.distance - other.distance || compareTexts(one.id, other.id));
  const edges = [...seen]
    .filter((edge) => distances.has(graph.edges.source(edge)) && distances.has(graph.edges.target(edge)))
    .map((edge) => stepOf(view, edge))
    .sort((one, other) => compareTexts(one.id, other.id))
    // A delegation that is not live is no way.
    .map((step) => ({ ...step, ...(step.kind === "DELEGATES_TO" ? { status: "active" } : {}) }));
  return { version, value: { nodes, edges, truncated } };
};
