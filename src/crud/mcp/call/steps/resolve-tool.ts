import { Problem } from "#contract/problem.ts";
import { findTool, isFor, type Snapshot } from "#crud/tools/catalogue.ts";
import type { Tool } from "#crud/tools/tool.ts";
import { findView, type View } from "#crud/tools/views.ts";
import type { ResolvedCall, ToolCall } from "#crud/tools/tool-call.ts";

/** The view of a name; one that is not for the caller's tenant does not exist. Throws `unknown_view` (404). */
export const requireView = (snapshot: Snapshot, name: string, tenant: string): View => {
  const view = findView(snapshot.views, name, tenant);
  if (view === undefined) throw new Problem("unknown_view");
  return view;
};

/** True when a tool of this view exists for the tenant, whatever its state. */
export const isInView = (tool: Tool, view: View, tenant: string): boolean => view.tools.has(tool.name) && isFor(tool, tenant);

/** The tool that a call names, in its view and for its tenant; unknown, foreign and out of view are alike. Throws `unknown_tool`. */
export const requireTool = (call: ToolCall): ResolvedCall => {
  const { prefix } = call.view;
  const tool = (prefix === "" ? undefined : call.snapshot.tools.get(`${prefix}${call.name}`)) ?? findTool(call.snapshot, call.name);
  if (tool === undefined || !isInView(tool, call.view, call.caller.tenant)) throw new Problem("unknown_tool");
  return { call, tool };
};
