import type { ConfigDiff } from "#contract/configs.ts";
import { createYielding } from "#http/yielding.ts";
import type { Snapshot } from "#crud/tools/catalogue.ts";
import { definitionChanges } from "#crud/mcp/definition-changes.ts";
import { findView } from "#crud/tools/views.ts";
import { ruleChanges } from "#crud/mcp/rule-changes.ts";
import type { Tool } from "#crud/tools/tool.ts";
import type { Prepared } from "./config-kind.ts";
import { settingChanges } from "./setting-changes.ts";

type Reach = Pick<Prepared, "hosts" | "secrets" | "yaml">;

const added = (before: readonly string[] = [], after: readonly string[] = []): string[] =>
  [...new Set(after)].filter((one) => !before.includes(one));

const pause = createYielding(10);

/** A tool that is, or was, another than before. */
export interface TouchedTool {
  readonly name: string;
  readonly was: Tool;
  /** Undefined: it goes. */
  readonly tool: Tool | undefined;
}

/**
 * What changes from one catalogue to the other, of tools and views that the tenant sees, and in the document; with the tools themselves that
 * change or go. Others have their turn meanwhile. Cost: O(tools).
 */
export const effectsOf = async (
  before: Snapshot,
  after: Snapshot,
  tenant: string,
  reach: { readonly before?: Reach | undefined; readonly after?: Reach | undefined },
): Promise<{ readonly diff: ConfigDiff; readonly touched: readonly TouchedTool[] }> => {
  const seen = (snapshot: Snapshot): ReadonlyMap<string, Tool> =>
    new Map([...snapshot.tools].filter(([, { tenants }]) => tenants?.includes(tenant) !== false));
  const [had, has] = [seen(before), seen(after)];
  const touched: TouchedTool[] = [];
  const changed: ConfigDiff["tools_changed"] = [];
  for (const [name, was] of had) {
    await pause();
    const tool = has.get(name);
    if (tool === was) continue;
    const rules = tool === undefined ? [] : ruleChanges(was, tool);
    if (tool !== undefined && was.digest === tool.digest && rules.length === 0) continue;
    touched.push({ name, was, tool });
    if (tool !== undefined)
      changed.push({
        name,
        digest: { before: was.digest, after: tool.digest },
        changes: [...definitionChanges(was.definition, tool.definition), ...rules],
      });
  }
  const viewOf = (snapshot: Snapshot, name: string): string | undefined => {
    const view = findView(snapshot.views, name, tenant);
    return view === undefined
      ? undefined
      : JSON.stringify([
          { ...view, tools: undefined, cut: view.cut.filter(({ tenants }) => tenants?.includes(tenant) !== false).length },
          [...view.tools].filter((tool) => snapshot.tools.get(tool)?.tenants?.includes(tenant) !== false),
        ]);
  };
  const changedViews: string[] = [];
  for (const name of new Set([before, after].flatMap(({ views }) => Array.from(views.values(), (view) => view.name)))) {
    await pause();
    if (name !== "" && viewOf(before, name) !== viewOf(after, name)) changedViews.push(name);
  }
  const isEdited = reach.before !== undefined && reach.after !== undefined;
  const settings = isEdited ? await settingChanges(reach.before.yaml.value, reach.after.yaml.value, pause) : [];
  const diff: ConfigDiff = {
    tools_added: [...has.keys()].filter((name) => !had.has(name)),
    tools_removed: [...had.keys()].filter((name) => !has.has(name)),
    tools_changed: changed,
    views_changed: changedViews.toSorted(),
    settings_changed: [...settings],
    hosts_added: added(reach.before?.hosts, reach.after?.hosts),
    secrets_added: added(reach.before?.secrets, reach.after?.secrets),
  };
  return { diff, touched };
};
