import { Problem } from "#contract/problem.ts";
import type { Tool } from "#crud/mcp/tool.ts";

/** Throws `tool_disabled` or `tool_quarantined` unless the tool may be called at all. */
export const requireServing = (tool: Tool): void => {
  if (tool.state === "disabled") throw new Problem("tool_disabled");
  if (tool.state === "quarantined") throw new Problem("tool_quarantined", { detail: "Its definition is not the one that was approved." });
};
