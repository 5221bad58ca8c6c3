import { putGraphEdge } from "#contract/graph-edit.ts";
import type { Client } from "./client.ts";

/** Lets a person, or whoever is in a group, call a tool; or gives it to an agent, who gave it being said, for the definition of this digest alone. */
export const giveTool = async (
  client: Client,
  kind: "GRANTS_ACCESS" | "HAS_CAPABILITY",
  to: string,
  tool: string,
  by: string,
  reason: string,
  digest: string,
) =>
  await client.ask(putGraphEdge, {
    params: { kind, src: to, dst: tool },
    query: {},
    body: kind === "HAS_CAPABILITY" ? { props: { granted_by: by }, reason, digest } : { props: {}, reason },
  });
