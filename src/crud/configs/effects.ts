import type { ConfigDiff } from "#contract/configs.ts";
import type { Snapshot } from "#crud/mcp/catalogue.ts";
import { definitionChanges } from "#crud/mcp/definition-changes.ts";
import { ruleChanges } from "#crud/mcp/rule-changes.ts";
import type { Tool } from "#crud/mcp/tool.ts";
import type { Prepared } from "./kinds.ts";
import { settingChanges } from "./setting-changes.ts";

type Reach = Pick<Prepared, "hosts" | "secrets" | "yaml">;

const added = (before: readonly string[] = [], after: readonly string[] = []): string[] =>
  [...new Set(after)].filter((one) => !before.includes(one));

/** What changes from one catalogue to the other, of tools and views that the tenant sees, and in the document. Cost: O(tools). */
export const effectsOf = (
  before: Snapshot,
  after: Snapshot,
  tenant: string,
  reach: { readonly before?: Reach | undefined; readonly after?: Reach | undefined },
): ConfigDiff => {
  const seen = (snapshot: Snapshot): ReadonlyMap<string, Tool> =>
    new Map([...snapshot.tools].filter(([, { tenants }]) => tenants?.includes(tenant) !== false));
  const [had, has] = [seen(before), seen(after)];
  const both = [...has].flatMap(([name, tool]) => {
    const was = had.get(name);
    const rules = was === undefined ? [] : ruleChanges(was, tool);
    return was === undefined || (was.digest === tool.digest && rules.length === 0) ? [] : [{ name, was, tool, rules }];
  });
  const viewOf = (snapshot: Snapshot, name: string): string | undefined => {
    const view = snapshot.views.get(name);
    return view === undefined || (view.tenants.length > 0 && !view.tenants.includes(tenant))
      ? undefined
      : JSON.stringify([
          { ...view, tools: undefined },
          [...view.tools].filter((tool) => snapshot.tools.get(tool)?.tenants?.includes(tenant) !== false),
        ]);
  };
  return {
    tools_added: [...has.keys()].filter((name) => !had.has(name)),
    tools_removed: [...had.keys()].filter((name) => !has.has(name)),
    tools_changed: both.map(({ name, was, tool, rules }) => ({
      name,
      digest: { before: was.digest, after: tool.digest },
      changes: [...definitionChanges(was.definition, tool.definition), ...rules],
    })),
    views_changed: [...new Set([...before.views.keys(), ...after.views.keys()])]
      .filter((name) => name !== "" && viewOf(before, name) !== viewOf(after, name))
      .toSorted(),
    settings_changed:
      reach.before === undefined || reach.after === undefined ? [] : [...settingChanges(reach.before.yaml.value, reach.after.yaml.value)],
    hosts_added: added(reach.before?.hosts, reach.after?.hosts),
    secrets_added: added(reach.before?.secrets, reach.after?.secrets),
  };
};
