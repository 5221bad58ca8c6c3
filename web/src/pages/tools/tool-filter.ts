import type { ToolDescriptor } from "#contract/tools.ts";

/** Facets of the tool list. */
export interface ToolFilter {
  readonly q?: string;
  readonly provider?: string;
  readonly source?: string;
  readonly tag?: string;
}

export const tagsOf = (tool: ToolDescriptor): readonly string[] => {
  const tags = tool.annotations?.["tags"];
  return Array.isArray(tags) ? tags.filter((tag): tag is string => typeof tag === "string") : [];
};

/** Provider and instance, as people name a system. */
export const systemOf = (tool: ToolDescriptor): string =>
  [tool.metadata?.provider, tool.metadata?.instance].filter((part) => part !== undefined).join(".");

const holds = (tool: ToolDescriptor, text: string): boolean =>
  [tool.name, tool.title ?? "", tool.description].some((part) => part.toLowerCase().includes(text));

export const filterTools = (tools: readonly ToolDescriptor[], filter: ToolFilter): readonly ToolDescriptor[] => {
  const words = (filter.q ?? "")
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== "");
  return tools.filter(
    (tool) =>
      words.every((word) => holds(tool, word)) &&
      (filter.provider === undefined || systemOf(tool) === filter.provider) &&
      (filter.source === undefined || tool.source === filter.source) &&
      (filter.tag === undefined || tagsOf(tool).includes(filter.tag)),
  );
};

/** Each value of a facet in order, with the number of tools that have it. */
export const facetOf = (
  tools: readonly ToolDescriptor[],
  valuesOf: (tool: ToolDescriptor) => readonly string[],
): ReadonlyMap<string, number> => {
  const counts = new Map<string, number>();
  for (const value of tools.flatMap((tool) => [...new Set(valuesOf(tool))]).toSorted())
    if (value !== "") counts.set(value, (counts.get(value) ?? 0) + 1);
  return counts;
};

/** What a list costs a model to read, roughly: four bytes a token. */
export const tokensOf = (tools: readonly ToolDescriptor[]): number =>
  Math.ceil(new TextEncoder().encode(JSON.stringify(tools)).byteLength / 4);

/** Does the source itself say that a call changes nothing? */
export const isReadOnly = (tool: ToolDescriptor): boolean => tool.annotations?.["readOnlyHint"] === true;
