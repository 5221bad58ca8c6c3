import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";

/** A stock MCP client of the official SDK at Sallyport's standard endpoint. `era` picks how it opens. */
export const connectMcp = async (origin: string, token: string, era: "legacy" | "modern", path = "/mcp"): Promise<Client> => {
  const client = new Client(
    { name: "story", version: "1.0.0" },
    era === "modern" ? { versionNegotiation: { mode: { pin: "2026-07-28" } } } : { versionNegotiation: { mode: "legacy" } },
  );
  const transport = new StreamableHTTPClientTransport(new URL(`${origin}${path}`), {
    requestInit: { headers: { authorization: `Bearer ${token}` } },
  });
  await client.connect(transport);
  return client;
};

export const toolNames = async (client: Client): Promise<readonly string[]> =>
  (await client.listTools()).tools.map((tool) => tool.name).sort();

/** Text of a tool result's first text item, parsed as JSON where it is JSON. */
export const resultOf = (result: {
  readonly content?: readonly unknown[];
  readonly isError?: boolean;
}): { readonly isError: boolean; readonly value: unknown; readonly text: string } => {
  const item = (result.content ?? []).find((part): part is { type: "text"; text: string } => (part as { type?: string }).type === "text");
  const text = item?.text ?? "";
  let value: unknown = text;
  try {
    value = JSON.parse(text);
  } catch {
    // Plain text is fine too.
  }
  return { isError: result.isError === true, value, text };
};
