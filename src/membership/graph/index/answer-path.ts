import { compareTexts } from "#membership/graph/graph-reader.ts";
import { MAX_EXPLORED } from "#membership/graph/sql-path.ts";
import { seenNode, type IndexAnswer } from "./view.ts";
import { briefOf, createTraversal, kindRank, stepOf, type Direction } from "./traverse.ts";

interface Step {
  readonly edge: number;
  readonly to: number;
}

/**
 * Breadth first, by numbers alone; then back from the end, to mark what lies on a shortest way; then forward again by the smallest step
 * in (kind, id), which gives the smallest sequence of steps of all that are shortest. Cost: the edges of what is explored.
 */
export const answerPath: IndexAnswer<"path"> = (view, ask) => {
  const { graph, version } = view;
  const { nodes, edges } = graph;
  const [from, to] = [seenNode(view, ask.from), seenNode(view, ask.to)];
  if (from === -1 || to === -1) return { version, value: undefined };
  const eachWay = createTraversal(view, ask.types);
  const [onward, back]: readonly [Direction, Direction] = ask.directed ? ["out", "in"] : ["both", "both"];

  /** Steps from the start, + 1; 0 = not reached. */
  const levels = new Uint8Array(nodes.names.size);
  levels[from] = 1;
  let frontier = [from];
  let explored = 1;
  let truncated = false;
  for (let hop = 0; hop < ask.maxHops && frontier.length > 0 && levels[to] === 0 && !truncated; hop++) {
    const next: number[] = [];
    let looked = 0;
    for (const node of frontier) {
      eachWay(node, onward, (_edge, other) => {
        looked++;
        if (levels[other] !== 0 || looked > MAX_EXPLORED) return;
        levels[other] = hop + 2;
        next.push(other);
      });
      if (looked >= MAX_EXPLORED) break;
    }
    explored += next.length;
    truncated = looked >= MAX_EXPLORED || explored > MAX_EXPLORED;
    frontier = next;
  }
  const length = (levels[to] as number) - 1;
  if (length < 0) return { version, value: { found: false, nodes: [], edges: [], explored, truncated } };

  const isOnWay = new Set([to]);
  for (let level = [to], left = length; left > 0; left--) {
    const before = new Set<number>();
    for (const node of level)
      eachWay(node, back, (_edge, other) => {
        if (levels[other] === left) before.add(other);
      });
    level = [...before];
    for (const node of level) isOnWay.add(node);
  }
  const isSmaller = (one: Step, other: Step): boolean =>
    ((kindRank[edges.kind(one.edge)] as number) - (kindRank[edges.kind(other.edge)] as number) ||
      compareTexts(nodes.names.nameOf(one.to), nodes.names.nameOf(other.to)) ||
      compareTexts(edges.id(one.edge), edges.id(other.edge))) < 0;
  const steps: Step[] = [];
  for (let node = from, hop = 0; hop < length; hop++) {
    let best: Step | undefined;
    eachWay(node, onward, (edge, other) => {
      const step = { edge, to: other };
      if (levels[other] === hop + 2 && isOnWay.has(other) && (best === undefined || isSmaller(step, best))) best = step;
    });
    // Assigned where the compiler does not look.
    const step = best as Step | undefined;
    if (step === undefined) throw new Error("a node on a shortest way has a step on it");
    steps.push(step);
    node = step.to;
  }
  return {
    version,
    value: {
      found: true,
      nodes: [from, ...steps.map((step) => step.to)].map((node) => briefOf(view, node)),
      edges: steps.map((step) => stepOf(view, step.edge)),
      explored,
      truncated,
    },
  };
};
