import type { Tool } from "#crud/tools/tool.ts";
import type { WorkflowDocument } from "#crud/workflows/model/workflow-document.ts";

/** A workflow as it serves. */
export interface PlacedWorkflow {
  readonly document: WorkflowDocument;
  readonly text: string;
  /** Undefined: agents cannot start it. */
  readonly tool: Tool | undefined;
}

/** The workflows that serve in this process, by name. */
export const createPlacedWorkflows = () => {
  const placed = new Map<string, PlacedWorkflow>();
  const toolsOf = (all: Iterable<PlacedWorkflow>): readonly Tool[] => Array.from(all).flatMap(({ tool }) => tool ?? []);
  return {
    get tools(): readonly Tool[] {
      return toolsOf(placed.values());
    },
    find: (name: string): PlacedWorkflow | undefined => placed.get(name),
    place: (name: string, workflow: PlacedWorkflow | undefined): void => {
      if (workflow === undefined) placed.delete(name);
      else placed.set(name, workflow);
    },
    /** The tools as they would be with that in place. */
    preview: (name: string, workflow: PlacedWorkflow | undefined): readonly Tool[] => {
      const others = [...placed].flatMap(([one, there]) => (one === name ? [] : [there]));
      return toolsOf(workflow === undefined ? others : [...others, workflow]);
    },
  };
};
export type PlacedWorkflows = ReturnType<typeof createPlacedWorkflows>;
