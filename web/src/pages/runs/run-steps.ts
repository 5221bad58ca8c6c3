import type { ReplyOf } from "#contract/endpoint.ts";
import type { runDiagram, RunStep } from "#contract/workflow-runs.ts";
import { formatCount } from "../../strings/format.ts";
import { runWords } from "../../strings/runs.ts";
import type { StepState } from "../../ui/run-status.tsx";

export type RunDiagramReply = ReplyOf<typeof runDiagram>;
type DiagramNode = RunDiagramReply["nodes"][number];

/** Acts on a run in the order of their buttons: what ends it first, what is most used last. */
export const runActs = ["cancel", "suspend", "unsuspend", "takeover", "retry", "rerun"] as const;
export type RunAct = (typeof runActs)[number];

const UNDO = "~undo";
const marks = new Set(["start", "end"]);

/** The node that draws a step: steps of a loop share one. */
export const nodeIdOf = (path: string): string => path.replaceAll(/\[\d+\]/g, "[]");

/** What is drawn: not where a flow begins and ends, and what undoes a step only once it does, by the name of the step. */
export const drawnNodes = (nodes: readonly DiagramNode[]): readonly DiagramNode[] => {
  const labels = new Map(nodes.map(({ id, label }) => [id, label]));
  return nodes
    .filter(({ id, kind, status }) => !marks.has(kind) && (!id.endsWith(UNDO) || status !== undefined))
    .map((node) => (node.id.endsWith(UNDO) ? { ...node, label: runWords.undoOf(labels.get(node.id.slice(0, -UNDO.length)) ?? "") } : node));
};

/** Which turn of its loop a step belongs to, counted from one; of loops in loops the innermost. */
const turnOf = (path: string): string => {
  const turn = /\[(\d+)\][^[]*$/.exec(path)?.[1];
  return turn === undefined ? "" : ` ${formatCount(Number(turn) + 1)}`;
};

/** A line of the list of steps: one that the run has reached, or one that it has not. */
export interface StepLine {
  /** Path of the step; of one not reached the id of its node. */
  readonly key: string;
  readonly name: string;
  readonly state: StepState;
  readonly tool: string | undefined;
  readonly step: RunStep | undefined;
}

/** The steps in order: those that the run has reached as they began, then the others as they are drawn. */
export const stepLines = (steps: readonly RunStep[], nodes: readonly DiagramNode[]): readonly StepLine[] => {
  const drawn = drawnNodes(nodes);
  const byId = new Map(drawn.map((node) => [node.id, node]));
  const reached = new Set(steps.map(({ path }) => nodeIdOf(path)));
  return [
    ...steps.map((step) => {
      const { label, tool } = byId.get(nodeIdOf(step.path)) ?? { label: step.name, tool: undefined };
      return { key: step.path, name: `${label}${turnOf(step.path)}`, state: step.status, tool, step };
    }),
    ...drawn
      .filter(({ id, status }) => status === undefined && !reached.has(id))
      .map(({ id, label, tool }) => ({ key: id, name: label, state: "open" as const, tool, step: undefined })),
  ];
};

/** What ending a run with undo does, newest first: calls that are done and the tool that undoes each, if one does. */
export const undoPlan = (
  steps: readonly RunStep[],
  nodes: readonly DiagramNode[],
): readonly { readonly step: RunStep; readonly name: string; readonly tool: string | undefined }[] => {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  return steps
    .filter(({ status, kind, undo_of: of }) => status === "done" && kind === "call" && of === null)
    .toSorted((one, other) => Date.parse(other.ended_at ?? other.started_at) - Date.parse(one.ended_at ?? one.started_at))
    .map((step) => {
      const id = nodeIdOf(step.path);
      const name = `${byId.get(id)?.label ?? step.name}${turnOf(step.path)}`;
      return { step, name, tool: byId.get(`${id}${UNDO}`)?.tool };
    });
};

interface StepEvent {
  readonly path: string;
  readonly status: DiagramNode["status"];
  readonly attempt: number;
}

const statuses = new Set<unknown>(["running", "waiting", "done", "skipped", "failed", "unknown", "undone", "cancelled"]);

/** The step that an event of the run tells of; `undefined`: of none, or of one in words that are not known here. */
export const readStepEvent = (data: Readonly<Record<string, unknown>>): StepEvent | undefined => {
  const step = data["step"];
  if (typeof step !== "object" || step === null) return undefined;
  const { path, status, attempt } = step as Readonly<Record<string, unknown>>;
  if (typeof path !== "string" || !statuses.has(status)) return undefined;
  return { path, status: status as DiagramNode["status"], attempt: typeof attempt === "number" ? attempt : 1 };
};

/** The diagram as an event says that a step stands. */
export const withEvent = (diagram: RunDiagramReply, { path, status, attempt }: StepEvent): RunDiagramReply => {
  const id = nodeIdOf(path);
  if (!diagram.nodes.some((node) => node.id === id)) return diagram;
  return { ...diagram, nodes: diagram.nodes.map((node) => (node.id === id ? { ...node, status, attempt } : node)) };
};
