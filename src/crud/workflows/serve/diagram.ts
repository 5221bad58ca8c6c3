import type { Diagram } from "#contract/workflow-runs.ts";
import type { Step, WorkflowDocument } from "#crud/workflows/model/workflow-document.ts";

type Edge = Diagram["edges"][number];
/** A way out of a step, before it is known where it leads. */
type Exit = Pick<Edge, "from" | "kind" | "label">;

const labelOf = ({ name, metadata }: Step): string => {
  const title = metadata?.["title"];
  if (typeof title === "string") return title;
  const words = name.replaceAll(/[_-]+/g, " ");
  return `${words.slice(0, 1).toUpperCase()}${words.slice(1)}`;
};

/** A document as nodes and edges without a cycle: a loop stands for one turn of it. Cost: linear in its steps and cases. */
export const diagramOf = ({ steps }: Pick<WorkflowDocument, "steps">): Diagram => {
  const nodes: Diagram["nodes"] = [{ id: "start", kind: "start", label: "Start" }];
  const edges: Edge[] = [];
  const join = (exits: readonly Exit[], to: string): void => {
    for (const exit of exits) edges.push({ id: `e${edges.length + 1}`, to, ...exit });
  };

  /** Draws a list of steps behind `entry`; answers the ways out of it. */
  const list = (all: readonly Step[], path: string, { entry, group, isCaught }: Around): readonly Exit[] => {
    let open = entry;
    const leaving: Exit[] = [];
    const jumps = new Map<string, readonly Exit[]>();
    const lead = (exits: readonly Exit[], then: string): void => {
      if (then === "continue") open = [...open, ...exits];
      else if (then === "exit") leaving.push(...exits);
      else if (then === "end") join(exits, "end");
      else jumps.set(then, [...(jumps.get(then) ?? []), ...exits]);
    };
    for (const step of all) {
      const id = `${path}/${step.name}`;
      const tool = step.kind === "call" ? { tool: step.tool } : {};
      nodes.push({ id, kind: step.kind, label: labelOf(step), ...tool, ...(group === undefined ? {} : { group }) });
      join([...open, ...(jumps.get(step.name) ?? [])], id);
      open = [];
      if (step.kind === "switch") for (const { name, then } of step.cases) lead([{ from: id, kind: "branch", label: name }], then);
      else lead(inside(step, id, { group, isCaught }), step.then ?? "continue");
    }
    return [...open, ...leaving];
  };

  /** Draws what a step holds; answers the ways out of it. */
  const inside = (step: Step, id: string, around: Omit<Around, "entry">): readonly Exit[] => {
    const { isCaught } = around;
    const flow: Exit = { from: id, kind: "flow" };
    switch (step.kind) {
      case "call": {
        const undo = step.compensate;
        if (undo === undefined) return [flow];
        const { group } = around;
        nodes.push({ id: `${id}~undo`, kind: "undo", label: undo.tool, tool: undo.tool, ...(group === undefined ? {} : { group }) });
        join([{ from: id, kind: "undo" }], `${id}~undo`);
        return [flow];
      }
      case "raise":
        if (!isCaught) join([{ from: id, kind: "error" }], "end");
        return [];
      case "do":
        return list(step.steps, id, { entry: [flow], group: id, isCaught });
      case "for":
        return list(step.steps, `${id}[]`, { entry: [{ from: id, kind: "branch", label: step.each }], group: id, isCaught });
      case "fork":
        return step.branches.flatMap((branch) =>
          list([branch], id, { entry: [{ from: id, kind: "branch", label: branch.name }], group: id, isCaught }),
        );
      case "try":
        return [
          ...list(step.steps, `${id}/try`, { entry: [flow], group: id, isCaught: true }),
          ...list(step.catch.steps, `${id}/catch`, { entry: [{ from: id, kind: "error", label: step.catch.as }], group: id, isCaught }),
        ];
      default:
        return [flow];
    }
  };

  const exits = list(steps, "/do", { entry: [{ from: "start", kind: "flow" }], group: undefined, isCaught: false });
  nodes.push({ id: "end", kind: "end", label: "End" });
  join(exits, "end");
  return { nodes, edges };
};

interface Around {
  readonly entry: readonly Exit[];
  /** Id of the block. */
  readonly group: string | undefined;
  /** An error goes to a `catch` around it. */
  readonly isCaught: boolean;
}
