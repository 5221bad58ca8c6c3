import { Problem } from "#contract/problem.ts";
import { findTool, type Snapshot } from "#crud/mcp/catalogue.ts";
import type { Tool } from "#crud/mcp/tool.ts";
import type { View } from "#crud/mcp/views.ts";

/** The view of a name; one that is not for the caller's tenant does not exist. Throws `unknown_view` (404). */
export const requireView = (snapshot: Snapshot, name: string, tenant: string): View => {
  const view = snapshot.views.get(name);
  if (view === undefined || (view.tenants.length > 0 && !view.tenants.includes(tenant))) throw new Problem("unknown_view");
  return view;
};

/** True when a tool of this view exists for the tenant, whatever its state. */
export const isInView = (tool: Tool, view: View, tenant: string): boolean =>
  view.tools.has(tool.name) && (tool.tenants === undefined || tool.tenants.includes(tenant));

/** The tool that a name means in this view for this tenant; unknown, foreign and out of view are alike. Throws `unknown_tool`. */
export const requireTool = (snapshot: Snapshot, view: View, name: string, tenant: string): Tool => {
  const tool = findTool(snapshot, name);
  if (tool === undefined || !isInView(tool, view, tenant)) throw new Problem("unknown_tool");
  return tool;
};
