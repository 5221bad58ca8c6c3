import { microFromUsd } from "#contract/ids.ts";
import { builtInTools } from "#pdp-client/pairs.ts";
import type { ToolsDocument } from "#crud/documents/tools-document.ts";
import { sha256Of } from "#crud/model/digest.ts";
import type { Definition, Tool } from "./tool.ts";
import { buildViews, placesOf, type NamedSystem, type View } from "./views.ts";

/** All that is served, frozen. A request keeps one snapshot from its first step to its last. */
export interface Snapshot {
  /** Of what lists show and are decided by: connectors, masks and limits may differ while it stays. */
  readonly revision: string;
  readonly tools: ReadonlyMap<string, Tool>;
  /** Underscore form -> dotted name. */
  readonly underscore: ReadonlyMap<string, string>;
  readonly views: ReadonlyMap<string, View>;
  readonly digests: ReadonlyMap<string, string>;
  /** Names in the order of UTF-16 code units, health first. */
  readonly order: readonly string[];
  readonly dropped: readonly (Pick<Tool, "name" | "tenants"> & { readonly reason: "name_collision" | "max_tools" })[];
}

export interface CatalogueInput {
  /** Of all sources; built-in ones first. */
  readonly tools: readonly Tool[];
  readonly document: ToolsDocument;
  /** External systems; their views exist before their tools are known. */
  readonly systems?: readonly NamedSystem[];
  /** For each tenant. */
  readonly maxTools?: number;
  /** Tools of external systems whose definition is not the approved one. */
  readonly quarantined: ReadonlySet<string>;
}

const withOverride = (tool: Tool, document: ToolsDocument): Tool => {
  const row = Object.hasOwn(document.overrides, tool.name) ? document.overrides[tool.name] : undefined;
  if (row === undefined || tool.isBuiltIn) return tool;
  const definition: Definition = {
    ...tool.definition,
    ...(row.title === undefined || row.title === null ? {} : { title: row.title }),
    ...(row.description === undefined || row.description === null ? {} : { description: row.description }),
    ...(Object.keys(row.annotations).length === 0 ? {} : { annotations: { ...tool.definition.annotations, ...row.annotations } }),
  };
  const cost = row.cost_usd;
  return {
    ...tool,
    definition,
    digest: sha256Of(definition),
    state: row.enabled ? tool.state : "disabled",
    rules: cost === undefined || cost === null ? tool.rules : { ...tool.rules, reserveMicro: microFromUsd(cost) },
  };
};

/** Whether a tenant sees the tool. */
export const isFor = ({ tenants }: Pick<Tool, "tenants">, tenant: string): boolean => tenants?.includes(tenant) !== false;

/** Tools of Sallyport stay in the order in which they are given, before all others. */
const byName = (a: Tool, b: Tool): number => {
  if (a.isBuiltIn || b.isBuiltIn) return Number(b.isBuiltIn) - Number(a.isBuiltIn);
  return a.name < b.name ? -1 : a.name > b.name ? 1 : 0;
};

/** Builds a snapshot; pure. A tool whose name or underscore form is taken is dropped, never the catalogue. */
export const buildSnapshot = (input: CatalogueInput): Snapshot => {
  const dropped: Snapshot["dropped"][number][] = [];
  const taken = new Set<string>();
  const unique = input.tools
    .map((tool) => withOverride(tool, input.document))
    .map((tool): Tool => (input.quarantined.has(tool.name) ? { ...tool, state: "quarantined" } : tool))
    .toSorted(byName)
    .filter((tool) => {
      const isTaken = taken.has(tool.name) || taken.has(tool.underscore);
      if (isTaken) dropped.push({ name: tool.name, reason: "name_collision" });
      else taken.add(tool.name).add(tool.underscore);
      return !isTaken;
    });
  const others = unique.filter((tool) => !tool.isBuiltIn);
  const places = placesOf(others);
  const placeOf = (tool: Tool): number => places.get(tool) ?? 0;
  /** With so many tools that are not built in, for each tenant. */
  const gather = (max: number) => {
    const builtIn = unique.filter((tool) => tool.isBuiltIn && (tool.name === builtInTools.health || max > 0));
    const all = [...builtIn, ...others.filter((tool) => placeOf(tool) < max)];
    const views = buildViews(all, input.document, input.systems);
    // A tool of Sallyport that no view has is none.
    const kept = all.filter((tool) => !tool.isBuiltIn || [...views.values()].some((view) => view.tools.has(tool.name)));
    return { max, views, kept };
  };
  // What is built in counts: health always, the search where a view has it.
  const { maxTools = Number.POSITIVE_INFINITY } = input;
  const longest = others.reduce((max, tool) => Math.max(max, placeOf(tool) + 1), 0);
  let { max, views, kept } = gather(Math.min(longest, maxTools - 1));
  while (kept.filter((tool) => tool.isBuiltIn).length + max > maxTools && max > 0) ({ max, views, kept } = gather(max - 1));
  for (const tool of others.filter((one) => placeOf(one) >= max))
    dropped.push({ name: tool.name, reason: "max_tools", ...(tool.tenants === undefined ? {} : { tenants: tool.tenants }) });
  return {
    revision: sha256Of(
      JSON.stringify({
        // All that a list shows or is decided by.
        tools: kept.map(({ name, digest, state, tenants, env, owner, rules }) => [
          [name, digest, state, tenants ?? null, env ?? null, owner ?? null],
          [rules.isReadOnly, rules.isDestructive, Number(rules.reserveMicro)],
        ]),
        // Which tools a view has hangs on these and on the tools alone, and is not worked out for it.
        views: [input.document.views, [...views.values()].map(({ name, tenants }) => [name, tenants])],
        dropped,
      }),
    ),
    tools: new Map(kept.map((tool) => [tool.name, tool])),
    underscore: new Map(kept.map((tool) => [tool.underscore, tool.name])),
    views,
    digests: new Map(kept.map((tool) => [tool.name, tool.digest])),
    order: kept.map((tool) => tool.name),
    dropped,
  };
};

/** The tool of a dotted or underscore name. */
export const findTool = (snapshot: Snapshot, name: string): Tool | undefined => {
  const dotted = snapshot.tools.has(name) ? name : snapshot.underscore.get(name);
  return dotted === undefined ? undefined : snapshot.tools.get(dotted);
};

/** Tools of a tenant, and of all, that have no place in the catalogue. */
export const cutOf = ({ dropped }: Pick<Snapshot, "dropped">, tenant: string): number =>
  dropped.filter((tool) => tool.reason === "max_tools" && isFor(tool, tenant)).length;

/** What is left out of a view, or of the whole catalogue where that has too many, as a tenant's lists tell it. */
export const leftOut = (snapshot: Snapshot, view: View, tenant: string): { readonly kept: number; readonly total: number } | undefined => {
  const ofView = view.cut.filter((tool) => isFor(tool, tenant)).length;
  const cut = ofView > 0 ? ofView : cutOf(snapshot, tenant);
  if (cut === 0) return undefined;
  const kept = [...snapshot.tools.values()].filter((tool) => isFor(tool, tenant) && (ofView === 0 || view.tools.has(tool.name))).length;
  return { kept, total: kept + cut };
};

/** The same where a list is a result of JSON-RPC. */
export const leftOutMeta = (snapshot: Snapshot, view: View, tenant: string): { readonly _meta?: Record<string, unknown> } => {
  const cut = leftOut(snapshot, view, tenant);
  return cut === undefined ? {} : { _meta: { "sallyport/truncated": cut } };
};
