import { queryOptions } from "@tanstack/react-query";
import { getRelationships, searchNodes } from "#contract/membership.ts";
import type { Client } from "./client.ts";

/** Agents that the signed-in person may know of. */
export const agentsQuery = (client: Client) =>
  queryOptions({
    queryKey: ["nodes", "agents"],
    queryFn: async ({ signal }) => await client.ask(searchNodes, { query: { node_type: "AIAgent", limit: 500 }, signal }),
    staleTime: 30_000,
  });

/** Tools that an agent is able to use: the far ends of its HAS_CAPABILITY edges. */
export const agentToolsQuery = (client: Client, agentId: string) =>
  queryOptions({
    queryKey: ["nodes", "capabilities", agentId],
    queryFn: async ({ signal }) => {
      const reply = await client.ask(getRelationships, {
        params: { node_id: agentId },
        query: { type: "HAS_CAPABILITY", direction: "out", limit: 500 },
        signal,
      });
      return reply.relationships.map((edge) => edge.node).toSorted((a, b) => a.id.localeCompare(b.id));
    },
    staleTime: 30_000,
  });
