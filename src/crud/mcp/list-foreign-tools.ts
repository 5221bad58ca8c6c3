import type { Client } from "@modelcontextprotocol/client";
import { z } from "zod";
import type { ForeignTool } from "#crud/mcp/external-tools.ts";

const MAX_PAGES = 64;
const MAX_LISTED = 5_000;

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
 * All that a server lists, at most 5,000 tools of 64 pages. The library's own list copies schemas, and would make objects of numbers that are
 * stored as their texts. What has no name is passed over. Throws as `request`.
 */
export const listForeignTools = async (
  client: Client,
  options: { readonly signal: AbortSignal; readonly timeout: number },
): Promise<readonly ForeignTool[]> => {
  if (client.getServerCapabilities()?.tools === undefined) return [];
  const found = new Map<string, ForeignTool>();
  let cursor: string | undefined;
  for (let pages = 0; pages < MAX_PAGES && found.size < MAX_LISTED; pages++) {
    const params = cursor === undefined ? {} : { cursor };
    const { tools, nextCursor } = await client.request({ method: "tools/list", params }, page, options);
    const before = found.size;
    for (const tool of tools) {
      const { success, data } = foreignTool.safeParse(tool);
      if (success) found.set(data.name, data);
    }
    // Who goes on without end says the same again.
    if (nextCursor === undefined || found.size === before) break;
    cursor = nextCursor;
  }
  return [...found.values()].slice(0, MAX_LISTED);
};
