import { queryOptions } from "@tanstack/react-query";
import { listTools, toolRpc } from "#contract/tools.ts";
import type { RpcResponse } from "#contract/json-rpc.ts";
import type { Client } from "./client.ts";
import { readAll } from "./queries.ts";

/** Tools of the signed-in person, all pages. */
export const toolListQuery = (client: Client) =>
  queryOptions({
    queryKey: ["tools", "list"],
    queryFn: async ({ signal }) => ({
      tools: await readAll(
        async (cursor) => await client.ask(listTools, { query: { limit: 500, cursor }, signal }),
        (page) => page.tools,
        5_000,
      ),
    }),
    staleTime: 30_000,
  });

export interface ExplainAsk {
  readonly tool: string;
  /** Both or neither: the tool as the agent would use it for the person. */
  readonly user_id?: string;
  readonly agent_id?: string;
}

export interface Called {
  readonly response: RpcResponse;
  readonly decisionId: string | undefined;
  readonly correlationId: string;
  readonly milliseconds: number;
}

/** The body of a `tools/call`. */
export const callBody = (name: string, args: Readonly<Record<string, unknown>>, id: string) => ({
  jsonrpc: "2.0" as const,
  id,
  method: "tools/call",
  params: { name, arguments: args },
});

/** Calls the tool once, for real. */
export const callTool = async (client: Client, name: string, args: Readonly<Record<string, unknown>>): Promise<Called> => {
  const started = performance.now();
  const answered = await client.askAnswer(toolRpc, { body: callBody(name, args, crypto.randomUUID()) });
  return {
    response: answered.value,
    decisionId: answered.headers.get("x-decision-id") ?? undefined,
    correlationId: answered.correlationId,
    milliseconds: Math.round(performance.now() - started),
  };
};
