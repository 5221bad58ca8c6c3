import { houseTools } from "#decide/pairs.ts";
import type { ToolsDocument, ViewFilters } from "#crud/documents/tools-document.ts";
import type { Tool } from "./tool.ts";

/**
 * The place of each tool, from 0, in the list of whoever sees it. What serves all or several tenants comes first and counts for each, so that
 * no tenant's own tools move another's.
 */
export const placesOf = (tools: readonly Tool[]): ReadonlyMap<Tool, number> => {
  const byOwner = Map.groupBy(tools, ({ tenants }) => (tenants?.length === 1 ? tenants[0] : undefined));
  const shared = byOwner.get(undefined)?.length ?? 0;
  return new Map([...byOwner].flatMap(([owner, own]) => own.map((tool, at) => [tool, owner === undefined ? at : shared + at] as const)));
};

/** A named part of the catalogue. */
export interface View {
  /** Empty for the root, which holds all. */
  readonly name: string;
  readonly title?: string;
  readonly instructions?: string;
  readonly nameForm: "dotted" | "underscore";
  /** How a denial leaves on standard MCP: a JSON-RPC error, or a result that says so. */
  readonly denial: "error" | "result";
  /** It has the tool that looks for tools. */
  readonly search: boolean;
  /** Empty = for all tenants. */
  readonly tenants: readonly string[];
  readonly tools: ReadonlySet<string>;
  /** Tools that are left out of it, for it has as many as it may. */
  readonly cut: readonly Pick<Tool, "name" | "tenants">[];
  /** What all names of its tools begin with, left out in its lists and calls; empty = names are whole. */
  readonly prefix: string;
}

/** The name of a tool in the view's lists on standard MCP. */
export const listedName = ({ prefix, nameForm }: View, { name, underscore }: Tool): string => {
  if (prefix !== "" && name.startsWith(prefix)) return name.slice(prefix.length);
  return nameForm === "underscore" ? underscore : name;
};

const systemOf = (tool: Pick<Tool, "name">): string => tool.name.slice(0, tool.name.lastIndexOf(".") + 1);
/** Systems of the tools that fit, as their names begin; where a view names its tenants, those that any of them sees. */
export const systemsIn = (tools: Iterable<Tool>, filters: ViewFilters, tenants: readonly string[]): readonly string[] => {
  const isSeen = (tool: Tool): boolean => tenants.length === 0 || tool.tenants?.some((tenant) => tenants.includes(tenant)) !== false;
  return [...new Set([...tools].filter((tool) => !tool.isBuiltIn && fits(tool, filters) && isSeen(tool)).map(systemOf))];
};

const any = (wanted: readonly string[], holds: (word: string) => boolean): boolean => wanted.length === 0 || wanted.some(holds);

const tagsOf = (tool: Tool): readonly string[] => {
  const tags = tool.definition.annotations?.["tags"];
  return Array.isArray(tags) ? tags.filter((tag): tag is string => typeof tag === "string") : [];
};

/** Keys of a filter are ORed, filters ANDed, empty = all. */
export const fits = (tool: Tool, filters: ViewFilters): boolean =>
  any(filters.source, (source) => tool.source === source) &&
  any(filters.provider, (provider) => tool.provider === provider) &&
  any(filters.instance, (instance) => tool.instance === instance) &&
  any(filters.name_prefix, (prefix) => tool.name.startsWith(prefix)) &&
  any(filters.names, (name) => tool.name === name) &&
  any(filters.tags_include, (tag) => tagsOf(tool).includes(tag)) &&
  !filters.tags_exclude.some((tag) => tagsOf(tool).includes(tag));

/** A system whose views exist although its tools may not be known yet. */
export interface NamedSystem {
  readonly provider: string;
  readonly instance: string;
  /** Absent: all. */
  readonly tenants?: readonly string[] | undefined;
}

/** Tenants of any of them; empty is all. The name of a view that exists by itself is that of its systems. */
const tenantsOf = (systems: readonly { readonly tenants?: readonly string[] | undefined }[]): readonly string[] =>
  systems.some(({ tenants }) => tenants === undefined) ? [] : [...new Set(systems.flatMap(({ tenants }) => tenants ?? []))];

/** Above so many tools nobody reads the list: a view that does not say otherwise is searched. */
const LARGE = 100;

/** Implicit views (root, `workflows`, each provider, each provider-instance) and those of the tools document. Health is in all, the search in those that are large or say so. */
export const buildViews = (
  tools: readonly Tool[],
  document: ToolsDocument,
  systems: readonly NamedSystem[] = [],
): ReadonlyMap<string, View> => {
  const named = [...systems, ...tools.filter((tool) => !tool.isBuiltIn)];
  const views = new Map<string, View>();
  const add = (
    name: string,
    holds: (tool: Tool) => boolean,
    more: Partial<Omit<View, "search">> & { readonly search?: boolean | undefined; readonly most?: number | undefined } = {},
  ): void => {
    const { most, ...rest } = more;
    const found = tools.filter((tool) => !tool.isBuiltIn && holds(tool));
    const places = placesOf(found);
    const [held = [], cut = []] = [true, false].map((isIn) =>
      found.filter((tool) => (places.get(tool) ?? 0) < (most ?? Infinity) === isIn),
    );
    const search = more.search ?? held.length > LARGE;
    const own = tools.filter((tool) => tool.isBuiltIn && (search || tool.name !== houseTools.find));
    views.set(name, {
      name,
      nameForm: "dotted",
      denial: "error",
      tenants: [],
      cut: cut.map((tool) => ({ name: tool.name, tenants: tool.tenants })),
      prefix: "",
      ...rest,
      search,
      tools: new Set([...own, ...held].map((tool) => tool.name)),
    });
  };
  /** What is for some tenants takes no name from what others see by it. */
  const mayTake = (name: string, tenants: readonly string[]): boolean => {
    const there = views.get(name)?.tenants;
    return there === undefined || tenants.length === 0 || (there.length > 0 && there.every((one) => tenants.includes(one)));
  };
  add("", () => true);
  add("workflows", (tool) => tool.source === "workflow");
  // Each system once, however many tools it has.
  for (const system of Map.groupBy(named, (one) => `${one.provider}.${one.instance}`).values()) {
    const [{ provider, instance } = { provider: "", instance: "" }] = system;
    const [name, tenants] = [`${provider}-${instance}`, tenantsOf(system)];
    if (mayTake(name, tenants)) add(name, (tool) => tool.provider === provider && tool.instance === instance, { tenants });
  }
  // A provider's view wins over a provider-instance view of the same name.
  for (const [provider, members] of Map.groupBy(named, (one) => one.provider)) {
    const tenants = tenantsOf(members);
    if (mayTake(provider, tenants)) add(provider, (tool) => tool.provider === provider, { tenants });
  }
  for (const row of document.views) {
    const [prefix = "", ...others] = row.prefix === "none" ? systemsIn(tools, row.filters, row.tenants) : [];
    add(row.name, (tool) => fits(tool, row.filters), {
      nameForm: row.nameForm,
      denial: row.denial,
      tenants: row.tenants,
      title: row.title,
      instructions: row.instructions,
      search: row.search,
      most: row.maxTools,
      // Of several systems two may have one name: whole names until they are of one again.
      prefix: others.length === 0 ? prefix : "",
    });
  }
  return views;
};
