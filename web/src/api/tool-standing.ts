import { queryOptions } from "@tanstack/react-query";
import { relationshipConnections } from "#contract/diagnostics.ts";
import { searchSubject } from "#contract/searches.ts";
import type { Client } from "./client.ts";

/** Who was let to call it, and which agents can be delegated it. */
export const toolHoldersQuery = (client: Client, tool: string) =>
  queryOptions({
    queryKey: ["tools", "holders", tool],
    queryFn: async ({ signal }) => {
      const joined = async (type: "GRANTS_ACCESS" | "HAS_CAPABILITY") =>
        (await client.ask(relationshipConnections, { query: { start_id: tool, type, direction: "in", limit: 100 }, signal })).items.map(
          ({ node }) => node.id,
        );
      const [granted, capable] = await Promise.all([joined("GRANTS_ACCESS"), joined("HAS_CAPABILITY")]);
      return { granted, capable };
    },
  });

/** Persons who may call it by themselves now, as the decision point has it. */
export const toolCallersQuery = (client: Client, tool: string) =>
  queryOptions({
    queryKey: ["tools", "callers", tool],
    queryFn: async ({ signal }) => {
      const about = { subject: { type: "identity" }, action: { name: "tools/call" }, resource: { type: "tool", id: tool } };
      const { results, page } = await client.ask(searchSubject, { body: { ...about, page: { limit: 200 } }, signal });
      const persons = results.map(({ id }) => id).filter((id) => id.startsWith("person:"));
      return { persons, hasMore: (page?.next_token ?? "") !== "" };
    },
  });
