import type { Tool } from "#crud/tools/tool.ts";
import type { WorkflowDocument } from "#crud/workflows/model/workflow-document.ts";

/** A workflow as it serves. */
export interface PlacedWorkflow {
  readonly document: WorkflowDocument;
  readonly text: string;
  /** Starts it; a tool of the catalogue where its document says so. */
  readonly tool: Tool;
}

/** The workflows that serve in this process, by name. */
export const createPlacedWorkflows = () => {
  const placed = new Map<string, PlacedWorkflow>();
  const toolsOf = (all: Iterable<PlacedWorkflow>): readonly Tool[] =>
    Array.from(all).flatMap(({ tool, document }) => (document.mcp.isEnabled ? [tool] : []));
  return {
    get tools(): readonly Tool[] {
      return toolsOf(placed.values());
    },
    /** Tools of those that only their own endpoint starts. */
    get hidden(): readonly Tool[] {
      return Array.from(placed.values()).flatMap(({ tool, document }) => (document.mcp.isEnabled ? [] : [tool]));
    },
    find: (name: string): PlacedWorkflow | undefined => placed.get(name),
    visibleTo: (tenant: string): readonly PlacedWorkflow[] =>
      [...placed.values()].filter(({ document }) => document.tenant === undefined || document.tenant === tenant),
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
