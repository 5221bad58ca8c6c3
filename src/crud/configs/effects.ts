import type { ConfigDiff } from "#contract/configs.ts";
import type { Snapshot } from "#crud/mcp/catalogue.ts";
import { definitionChanges } from "#crud/mcp/definition-changes.ts";
import { sha256Of } from "#crud/mcp/digest.ts";
import type { Tool } from "#crud/mcp/tool.ts";
import type { Prepared } from "./kinds.ts";

type Reach = Pick<Prepared, "hosts" | "secrets">;

/** What a call meets besides the definition: every member of its rules that is data. */
const rulesOf = ({ state, rules }: Tool): string =>
  sha256Of([
    state,
    Number(rules.reserveMicro),
    rules.timeoutMs,
    rules.scopes,
    rules.app ?? null,
    rules.stepUp ? { ...rules.stepUp } : null,
    rules.mappings.map(({ pairs }) => pairs),
    rules.masks.map(({ pointer, kind, unlessAllowed }) => [pointer, kind, unlessAllowed ?? null]),
    rules.rows === undefined ? null : [rules.rows.resourceType, rules.rows.rows, [...rules.rows.columns], rules.rows.guard !== undefined],
    [rules.isReadOnly, rules.isDestructive],
    rules.wantedRows ?? null,
  ]);
const added = (before: readonly string[] = [], after: readonly string[] = []): string[] =>
  [...new Set(after)].filter((one) => !before.includes(one));

/** What changes from one catalogue to the other, of tools and views that the tenant sees. Cost: O(tools). */
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
    return was === undefined || (was.digest === tool.digest && rulesOf(was) === rulesOf(tool)) ? [] : [{ name, was, tool }];
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
    tools_changed: both.map(({ name, was, tool }) => ({
      name,
      digest: { before: was.digest, after: tool.digest },
      changes: [...definitionChanges(was.definition, tool.definition)],
    })),
    views_changed: [...new Set([...before.views.keys(), ...after.views.keys()])]
      .filter((name) => name !== "" && viewOf(before, name) !== viewOf(after, name))
      .toSorted(),
    hosts_added: added(reach.before?.hosts, reach.after?.hosts),
    secrets_added: added(reach.before?.secrets, reach.after?.secrets),
  };
};
