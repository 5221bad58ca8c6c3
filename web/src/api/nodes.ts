import { queryOptions } from "@tanstack/react-query";
import { patchGraphNode } from "#contract/graph-edit.ts";
import { getRelationships, searchNodes } from "#contract/membership.ts";
import type { Suggestions } from "../ui/suggest-input.tsx";
import type { Client } from "./client.ts";

/** Agents that the signed-in person may know of. */
export const agentsQuery = (client: Client) =>
  queryOptions({
    queryKey: ["nodes", "agents"],
    queryFn: async ({ signal }) => await client.ask(searchNodes, { query: { node_type: "AIAgent", limit: 500 }, signal }),
    staleTime: 30_000,
  });

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

/** Names of those who control an agent. */
export const controllersQuery = (client: Client, agentId: string) =>
  queryOptions({
    queryKey: ["nodes", "controllers", agentId],
    queryFn: async ({ signal }) => {
      const reply = await client.ask(getRelationships, {
        params: { node_id: agentId },
        query: { type: "CONTROLLED_BY", direction: "out", limit: 10 },
        signal,
      });
      return reply.relationships.map(({ node }) => node.name);
    },
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

/** Takes a node that was suspended into use again. */
export const activateNode = async (client: Client, id: string, reason: string) =>
  await client.ask(patchGraphNode, { params: { id }, headers: { "if-match": "*" }, body: { state: "active", reason } });
