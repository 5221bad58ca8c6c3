import { Button } from "@mantine/core";
import { useMediaQuery } from "@mantine/hooks";
import { Background, Handle, Position, ReactFlow, type Edge, type Node, type NodeProps, type ReactFlowInstance } from "@xyflow/react";
import "@xyflow/react/dist/base.css";
import { useMemo, useState, type ReactElement } from "react";
import { runWords } from "../../strings/runs.ts";
import { visibleText } from "../../strings/format.ts";
import { Panel } from "../../ui/panel.tsx";
import { Status } from "../../ui/chip.tsx";
import { stepLook, StepStatus, type StepState } from "../../ui/run-status.tsx";
import { joined, layOut, NODE, type Direction } from "./flow-layout.ts";
import { drawnNodes, type RunDiagramReply } from "./run-steps.ts";

type StepNode = Node<{
  readonly label: string;
  /** None: of a workflow, not of a run of it. */
  readonly state: StepState | undefined;
  readonly attempt: number;
  readonly isChosen: boolean;
  readonly direction: Direction;
}>;

const sides = {
  LR: { target: Position.Left, source: Position.Right },
  TB: { target: Position.Top, source: Position.Bottom },
} as const;

const StepView = ({ data: { label, state, attempt, isChosen, direction } }: NodeProps<StepNode>): ReactElement => {
  const look = state && stepLook(state);
  return (
    <div className="sp-flow-node" data-state={state} data-chosen={isChosen ? "" : undefined}>
      <Handle type="target" position={sides[direction].target} isConnectable={false} />
      <strong>{visibleText(label)}</strong>
      {look && <Status {...look} text={attempt > 1 ? `${look.text}, ${runWords.attempt(attempt)}` : look.text} />}
      <Handle type="source" position={sides[direction].source} isConnectable={false} />
    </div>
  );
};
const nodeTypes = { step: StepView };

/** Beyond these the drawing is moved about instead. */
const MAX_HEIGHT = { LR: 320, TB: 440 } as const;

/** The steps of a run, or with a title those of a workflow, as a flow: for the eye and the mouse. The list below it has the same for the keyboard and for screen readers. */
export const RunDiagram = ({
  title,
  diagram,
  chosen,
  onChoose,
}: {
  readonly title?: string;
  readonly diagram: RunDiagramReply;
  readonly chosen: string | undefined;
  readonly onChoose: (id: string) => void;
}): ReactElement => {
  const direction: Direction = useMediaQuery("(max-width: 760px)", false, { getInitialValueInEffect: false }) ? "TB" : "LR";
  const [flow, setFlow] = useState<ReactFlowInstance<StepNode>>();
  const shown = useMemo(() => drawnNodes(diagram.nodes), [diagram.nodes]);
  const shape = JSON.stringify([shown.map(({ id }) => id), diagram.edges.map(({ id }) => id)]);
  // By what is drawn, not by how it stands: a step that ends moves nothing.
  const { places, height } = useMemo(() => layOut(shown, diagram.edges, direction), [shape, direction]);
  const stateOf = new Map<string, StepState>(shown.map(({ id, status }) => [id, status ?? "open"]));
  const nodes = shown.map(({ id, label, status, attempt }): StepNode => ({
    id,
    type: "step",
    position: places.get(id) ?? { x: 0, y: 0 },
    ...NODE,
    data: { label, state: title === undefined ? (status ?? "open") : undefined, attempt: attempt ?? 1, isChosen: id === chosen, direction },
  }));
  const edges = joined(shown, diagram.edges).map(({ id, from, to, label, kind }): Edge => ({
    id,
    source: from,
    target: to,
    ...(label === undefined ? {} : { label: visibleText(label) }),
    className: "sp-flow-edge",
    data: {},
    domAttributes: {
      "data-kind": kind,
      "data-taken": stateOf.get(from) === "open" || stateOf.get(to) === "open" ? undefined : "",
    } as NonNullable<Edge["domAttributes"]>,
  }));
  const all = shown.filter(({ id }) => !id.endsWith("~undo"));
  const legend = [...new Set(all.map(({ id }) => stateOf.get(id) ?? "open"))];
  return (
    <Panel
      title={title ?? runWords.progress}
      aside={
        <span className="sp-actions sp-small">
          {title === undefined ? legend.map((state) => <StepStatus key={state} state={state} />) : null}
          <Button variant="subtle" size="compact-xs" onClick={() => void flow?.fitView()}>
            {runWords.fit}
          </Button>
        </span>
      }
    >
      {title === undefined ? (
        <p className="sp-small sp-dim" role="status">
          {runWords.doneOf(all.filter(({ status }) => status === "done" || status === "skipped").length, all.length)}
        </p>
      ) : null}
      <div className="sp-flow" aria-hidden="true" style={{ height: Math.min(height + 24, MAX_HEIGHT[direction]) }}>
        <ReactFlow
          key={direction}
          nodes={nodes}
          edges={edges}
          nodeTypes={nodeTypes}
          onInit={setFlow}
          onNodeClick={(_event, { id }) => onChoose(id)}
          fitView
          fitViewOptions={{ minZoom: 0.5, maxZoom: 1, padding: 0.04 }}
          minZoom={0.2}
          maxZoom={1.5}
          nodesDraggable={false}
          nodesConnectable={false}
          nodesFocusable={false}
          edgesFocusable={false}
          elementsSelectable={false}
          disableKeyboardA11y
          zoomOnScroll={false}
          preventScrolling={false}
          proOptions={{ hideAttribution: true }}
        >
          <Background gap={16} size={1} />
        </ReactFlow>
      </div>
    </Panel>
  );
};
