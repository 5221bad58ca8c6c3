import type { Client } from "@modelcontextprotocol/client";
import { z } from "zod";
import { isLongerThan } from "#contract/json-members.ts";
import type { ForeignTool } from "#crud/mcp/external-tools.ts";

const MAX_PAGES = 64;
const MAX_LISTED = 5_000;
/** Characters of one tool, and of all tools of a list: they stay in memory, where small values take some twenty times as much. */
const MAX_TOOL = 262_144;
const MAX_LIST = 4_194_304;
/** Of a tool that is not stored its name is, if it has no more characters. */
const MAX_REFUSED_NAME = 512;

const text = z.string().optional().catch(undefined);
const hint = z.boolean().optional().catch(undefined);
const annotations = z.object({
  title: text,
  readOnlyHint: hint,
  destructiveHint: hint,
  idempotentHint: hint,
  openWorldHint: hint,
});
/** What is odd in a tool is left out; schemas stay as they are, with the digits of their numbers. */
const foreignTool = z.object({
  name: z.string(),
  title: text,
  description: text,
  inputSchema: z.unknown().optional(),
  outputSchema: z.unknown().optional(),
  annotations: annotations.optional().catch(undefined),
});
const page = z.object({ tools: z.array(z.unknown()), nextCursor: text });

/**
 * All that a server lists, at most 5,000 tools of 64 pages. Of a tool that is too large, or beyond what a list may have, the name alone is
 * there, and why. The library's own list copies schemas, and would make objects of numbers that are
 * stored as their texts. What has no name is passed over. Throws as `request`.
 */
export const listForeignTools = async (
  client: Client,
  options: { readonly signal: AbortSignal; readonly timeout: number },
): Promise<readonly ForeignTool[]> => {
  if (client.getServerCapabilities()?.tools === undefined) return [];
  const found = new Map<string, ForeignTool>();
  let left = MAX_LIST;
  const stored = (tool: ForeignTool): ForeignTool => {
    const isLarge = isLongerThan(tool, MAX_TOOL);
    const size = isLarge ? Infinity : JSON.stringify(tool).length;
    if (size <= left) {
      left -= size;
      return tool;
    }
    const name = tool.name.length > MAX_REFUSED_NAME ? "(a long name)" : tool.name;
    return { name, refusal: isLarge ? `it has more than ${MAX_TOOL} characters` : `the list has more than ${MAX_LIST} characters` };
  };
  let cursor: string | undefined;
  for (let pages = 0; pages < MAX_PAGES && found.size < MAX_LISTED; pages++) {
    const params = cursor === undefined ? {} : { cursor };
    const { tools, nextCursor } = await client.request({ method: "tools/list", params }, page, options);
    const before = found.size;
    for (const tool of tools) {
      const { success, data } = foreignTool.safeParse(tool);
      const one = success ? stored(data) : undefined;
      if (one !== undefined) found.set(one.name, one);
    }
    // Who goes on without end says the same again.
    if (nextCursor === undefined || found.size === before) break;
    cursor = nextCursor;
  }
  return [...found.values()].slice(0, MAX_LISTED);
};
