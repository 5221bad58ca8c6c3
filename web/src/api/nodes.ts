import { queryOptions } from "@tanstack/react-query";
import { getRelationships, searchNodes } from "#contract/membership.ts";
import type { Suggestions } from "../ui/suggest-input.tsx";
import type { Client } from "./client.ts";

const suggestNodes = (client: Client, kinds: readonly ("AIAgent" | "Person" | "Group")[], text: string): Suggestions => ({
  key: ["nodes", "suggestions", kinds.join(), text],
  read: async (signal) => {
    const found = await Promise.all(
      kinds.map(async (kind) => await client.ask(searchNodes, { query: { node_type: kind, limit: 8, search: text || undefined }, signal })),
    );
    return found.flat().map((node) => ({ value: node.id, label: node.display_name ?? node.name }));
  },
});

/** Agents and persons to choose from, by a part of name or id. */
export const agentSuggestions = (client: Client, text: string) => suggestNodes(client, ["AIAgent"], text);
export const personSuggestions = (client: Client, text: string) => suggestNodes(client, ["Person"], text);
/** Persons and groups, to whom a tool is granted. */
export const holderSuggestions = (client: Client, text: string) => suggestNodes(client, ["Person", "Group"], text);

/** What lies at the far ends of an agent's edges of a kind. */
const joinedTo = async (client: Client, agentId: string, type: "CONTROLLED_BY" | "HAS_CAPABILITY", limit: number, signal: AbortSignal) => {
  const query = { type, direction: "out", limit } as const;
  return (await client.ask(getRelationships, { params: { node_id: agentId }, query, signal })).relationships.map(({ node }) => node);
};

/** Names of those who control an agent. */
export const controllersQuery = (client: Client, agentId: string) =>
  queryOptions({
    queryKey: ["nodes", "controllers", agentId],
    queryFn: async ({ signal }) => (await joinedTo(client, agentId, "CONTROLLED_BY", 10, signal)).map(({ name }) => name),
    staleTime: 30_000,
  });

/** Tools that an agent is able to use. */
export const agentToolsQuery = (client: Client, agentId: string) =>
  queryOptions({
    queryKey: ["nodes", "capabilities", agentId],
    queryFn: async ({ signal }) =>
      (await joinedTo(client, agentId, "HAS_CAPABILITY", 500, signal)).toSorted((a, b) => a.id.localeCompare(b.id)),
    staleTime: 30_000,
  });
