import { builtInTools } from "#pdp-client/pairs.ts";
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
  const named = new Set(tenants);
  const isSeen = (tool: Tool): boolean => named.size === 0 || tool.tenants?.some((tenant) => named.has(tenant)) !== false;
  const isWanted = matcherOf(filters);
  return [...new Set([...tools].filter((tool) => !tool.isBuiltIn && isWanted(tool) && isSeen(tool)).map(systemOf))];
};

const tagsOf = (tool: Tool): readonly string[] => {
  const tags = tool.definition.annotations?.["tags"];
  return Array.isArray(tags) ? tags.filter((tag): tag is string => typeof tag === "string") : [];
};

/** Whether a name begins with one of the words. Cost: a search among the sorted words; of those that begin with no other, the last up to the name alone can be it. */
const beginsWith = (words: readonly string[]): ((name: string) => boolean) => {
  const sorted: string[] = [];
  for (const word of words.toSorted()) if (sorted.length === 0 || !word.startsWith(sorted.at(-1) ?? "")) sorted.push(word);
  return (name) => {
    let [from, to] = [0, sorted.length];
    while (from < to) {
      const middle = (from + to) >> 1;
      if ((sorted[middle] ?? "") <= name) from = middle + 1;
      else to = middle;
    }
    return from > 0 && name.startsWith(sorted[from - 1] ?? "");
  };
};

/** Keys of a filter are ORed, filters ANDed, empty = all. Cost of a tool: hardly more for many words than for one. */
const matcherOf = (filters: ViewFilters): ((tool: Tool) => boolean) => {
  const among = (words: readonly string[]): ((word: string) => boolean) => {
    const known = new Set(words);
    return (word) => known.size === 0 || known.has(word);
  };
  const [isSource, isProvider, isInstance] = [among(filters.source), among(filters.provider), among(filters.instance)];
  const [isName, isIncluded] = [among(filters.names), among(filters.tags_include)];
  const isBelow = filters.name_prefix.length === 0 ? () => true : beginsWith(filters.name_prefix);
  const excluded = new Set(filters.tags_exclude);
  return (tool) =>
    isSource(tool.source) &&
    isProvider(tool.provider) &&
    isInstance(tool.instance) &&
    isBelow(tool.name) &&
    isName(tool.name) &&
    (filters.tags_include.length === 0 || tagsOf(tool).some(isIncluded)) &&
    (excluded.size === 0 || !tagsOf(tool).some((tag) => excluded.has(tag)));
};

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

/** What is worked out when it is first asked for. */
const later = <T extends object>(make: () => T): (() => T) => {
  let made: T | undefined;
  return () => (made ??= make());
};

/** Where a view of some tenants may not take a name it is stored for each of them alone; names have no spaces. */
const ownKey = (name: string, tenant: string): string => `${name} ${tenant}`;

/** The view that a tenant finds by a name: its own before one of several tenants; none that is not for it. */
export const findView = (views: ReadonlyMap<string, View>, name: string, tenant: string): View | undefined => {
  const view = views.get(ownKey(name, tenant)) ?? views.get(name);
  return view === undefined || view.tenants.length === 0 || view.tenants.includes(tenant) ? view : undefined;
};

/** Implicit views (root, `workflows`, each provider, each provider-instance) and those of the tools document. Health is in all, the search in those that are large or say so. Cost: O(views); of the tools that a view has once it is looked at. */
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
    more: Partial<Omit<View, "search" | "prefix">> & {
      readonly search?: boolean | undefined;
      readonly max?: number | undefined;
      readonly prefix?: () => string;
      readonly key?: string;
    } = {},
  ): void => {
    const { key = name, max, search: isSearched, prefix = () => "", ...rest } = more;
    const content = later(() => {
      const found = tools.filter((tool) => !tool.isBuiltIn && holds(tool));
      const places = placesOf(found);
      const [held = [], cut = []] = [true, false].map((isIn) =>
        found.filter((tool) => (places.get(tool) ?? 0) < (max ?? Infinity) === isIn),
      );
      const search = isSearched ?? held.length > LARGE;
      const hasWorkflows = held.some((tool) => tool.source === "workflow");
      const isHad = ({ name, source }: Tool): boolean => (name === builtInTools.find ? search : source === "system" || hasWorkflows);
      const own = tools.filter((tool) => tool.isBuiltIn && isHad(tool));
      return {
        search,
        prefix: prefix(),
        cut: cut.map((tool) => ({ name: tool.name, tenants: tool.tenants })),
        tools: new Set([...own, ...held].map((tool) => tool.name)),
      };
    });
    views.set(key, {
      name,
      nameForm: "dotted",
      denial: "error",
      tenants: [],
      ...rest,
      get search() {
        return content().search;
      },
      get prefix() {
        return content().prefix;
      },
      get cut() {
        return content().cut;
      },
      get tools() {
        return content().tools;
      },
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
    const keys = mayTake(row.name, row.tenants) ? [row.name] : row.tenants.map((tenant) => ownKey(row.name, tenant));
    const holds = matcherOf(row.filters);
    for (const key of keys)
      add(row.name, holds, {
        key,
        nameForm: row.nameForm,
        denial: row.denial,
        tenants: row.tenants,
        title: row.title,
        instructions: row.instructions,
        search: row.search,
        max: row.maxTools,
        // Of several systems two may have one name: whole names until they are of one again.
        prefix: () => {
          const [prefix = "", ...others] = row.prefix === "none" ? systemsIn(tools, row.filters, row.tenants) : [];
          return others.length === 0 ? prefix : "";
        },
      });
  }
  return views;
};
