import { pageOf } from "#authn/sealing/sealed-cursors.ts";
import { isObject } from "#contract/is-object.ts";
import { principalOf } from "#crud/tools/tool-call.ts";
import { findTool, type Snapshot } from "#crud/tools/catalogue.ts";
import { sha256Of } from "#crud/model/digest.ts";
import { isAfter, listPermitted, parseLimit, type ListAsk, type ListedTools, type ListParts } from "./list-tools.ts";
import type { Definition, Tool } from "#crud/tools/tool.ts";

/** What a tool is called where its system need not be named: its base, or the workflow's name. */
const shortOf = (tool: Pick<Tool, "name">): string => tool.name.slice(tool.name.lastIndexOf(".") + 1);

/** One entry for several tools of a short name: which of them is meant, and its arguments. */
const routerOf = (short: string, first: Tool, tools: readonly Tool[]): Tool => {
  const definition: Definition = {
    name: short,
    title: first.definition.title ?? short,
    description: tools.map(({ name, definition: { description } }) => `${name}: ${description}`).join("\n"),
    inputSchema: {
      type: "object",
      required: ["tool", "arguments"],
      oneOf: tools.map(({ name, definition: { inputSchema } }) => ({ properties: { tool: { const: name }, arguments: inputSchema } })),
    },
  };
  return { ...first, name: short, underscore: short, definition, digest: sha256Of(definition) };
};

/** The same tools by their short names, in the order of these; what is built in stays itself, and first. */
export const routersOf = (tools: readonly Tool[]): readonly Tool[] => {
  const byShort = Map.groupBy(
    tools.filter(({ isBuiltIn }) => !isBuiltIn),
    shortOf,
  );
  const routers = [...byShort].map(([short, [first, ...more]]) => (first === undefined ? [] : [routerOf(short, first, [first, ...more])]));
  return [...tools.filter(({ isBuiltIn }) => isBuiltIn), ...routers.flat().toSorted((one, other) => (one.name < other.name ? -1 : 1))];
};

/** One page of the routers of what the caller may use. An entry is whole, so all of its tools are decided for each page. Throws as `listPermitted`. */
export const listRouters = async (ask: ListAsk, parts: ListParts): Promise<ListedTools> => {
  const limit = parseLimit(ask.limit) ?? Number.POSITIVE_INFINITY;
  const place = { view: ask.view.name, principal: principalOf(ask.caller), router: "true" };
  const after = ask.cursor === undefined ? undefined : parts.cursor.open(ask.cursor, place);
  const { tools } = await listPermitted({ ...ask, limit: undefined, cursor: undefined }, parts);
  const found = routersOf(tools).filter((tool) => isAfter(tool, after));
  const { page, last } = pageOf(found, limit);
  return last === undefined ? { tools: page } : { tools: page, nextCursor: parts.cursor.seal(last.name, place) };
};

/** The call of a router as the call of the tool that it names; every other call as it is. From here on nothing knows of routers. */
export const resolveRouted = <Ask extends { readonly name: string; readonly arguments: unknown }>(snapshot: Snapshot, ask: Ask): Ask => {
  if (findTool(snapshot, ask.name) !== undefined || !isObject(ask.arguments)) return ask;
  const { tool: named, arguments: given, ...rest } = ask.arguments;
  const tool = typeof named === "string" && Object.keys(rest).length === 0 ? findTool(snapshot, named) : undefined;
  return tool === undefined || tool.isBuiltIn || shortOf(tool) !== ask.name ? ask : { ...ask, name: tool.name, arguments: given };
};
