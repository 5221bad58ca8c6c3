import { requireScope } from "#authn/model/caller.ts";
import { builtInTools } from "#pdp-client/pairs.ts";
import { requireView } from "./call/steps/resolve-tool.ts";
import type { CatalogueKeeper } from "./catalogue-store.ts";
import { listedName } from "#crud/tools/views.ts";
import { createBuiltInTool } from "./built-in-tool.ts";
import { findPermitted, type ListParts } from "./list-tools.ts";
import { rankTools } from "./rank-tools.ts";
import type { Definition, Tool } from "#crud/tools/tool.ts";

const MAX = 20;
const USUAL = 5;

const definition: Omit<Definition, "annotations"> = {
  name: builtInTools.find,
  title: "Find tools",
  description:
    "Looks for tools that you may use, by words of what you want to do, the best first. Call a tool by the name that it has here.",
  inputSchema: {
    type: "object",
    required: ["query"],
    properties: {
      query: { type: "string", minLength: 1, maxLength: 200, description: "Words of what the tool should do." },
      limit: { type: "integer", minimum: 1, maximum: MAX, default: USUAL, description: "At most so many tools." },
    },
    additionalProperties: false,
  },
  outputSchema: {
    type: "object",
    required: ["tools", "has_more"],
    properties: {
      tools: {
        type: "array",
        items: {
          type: "object",
          required: ["name", "description", "inputSchema"],
          properties: {
            name: { type: "string" },
            title: { type: "string" },
            description: { type: "string" },
            inputSchema: { type: "object" },
          },
        },
      },
      has_more: { type: "boolean" },
    },
  },
};

/** The tool by which a large view is used without its list: what the caller could call, by words. It tells what a list tells, so it needs the scope of lists. */
export const createFindTool = (tool: {
  readonly scope: string;
  /** Asked for at each call: the catalogue that this tool is in is one of them. */
  readonly parts: () => ListParts & { readonly catalogue: CatalogueKeeper };
}): Tool =>
  createBuiltInTool(definition, async ({ caller, viewName, correlationId, arguments: { query, limit } }) => {
    requireScope(caller, [tool.scope]);
    const parts = tool.parts();
    const { snapshot } = parts.catalogue;
    const view = requireView(snapshot, viewName, caller.tenant);
    const { tools, hasMore } = await findPermitted(
      {
        caller,
        view,
        snapshot,
        correlationId,
        limit: typeof limit === "number" ? limit : USUAL,
        order: (candidates) => rankTools(snapshot, candidates, String(query)),
      },
      parts,
    );
    return {
      value: {
        tools: tools.map((tool) => {
          const { title, description, inputSchema } = tool.definition;
          return { name: listedName(view, tool), ...(title === undefined ? {} : { title }), description, inputSchema };
        }),
        has_more: hasMore,
      },
    };
  });
