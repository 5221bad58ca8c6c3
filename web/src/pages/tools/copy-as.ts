import { callBody } from "../../api/tools.ts";

/** A call to take elsewhere. A placeholder stands where a credential goes; none of ours is ever in it. */

const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

export const asRpc = (name: string, args: Readonly<Record<string, unknown>>): string =>
  JSON.stringify(callBody(name, args, "1"), undefined, 2);

export const asCurl = (origin: string, name: string, args: Readonly<Record<string, unknown>>): string =>
  [
    `curl -sS ${quoted(`${origin}/api/crud/mcp/jsonrpc`)}`,
    `  -H "Authorization: Bearer $TOKEN"`,
    `  -H 'Content-Type: application/json'`,
    `  -d ${quoted(JSON.stringify(callBody(name, args, "1")))}`,
  ].join(" \\\n");

/** Entry of an MCP client's configuration. */
export const asClientEntry = (origin: string): string =>
  JSON.stringify(
    { mcpServers: { sallyport: { type: "http", url: `${origin}/mcp`, headers: { Authorization: "Bearer $TOKEN" } } } },
    undefined,
    2,
  );
