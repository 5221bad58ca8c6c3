import { queryOptions } from "@tanstack/react-query";
import { patchGraphNode, putGraphNode } from "#contract/graph-edit.ts";
import { searchNodes } from "#contract/membership.ts";
import type { Client } from "./client.ts";

export interface SecretNode {
  readonly id: string;
  readonly attributes: Readonly<Record<string, unknown>>;
}

/** What stands for a secret in the identity graph; `null` where nothing does yet. */
export const secretNodeQuery = (client: Client, secret: string) =>
  queryOptions({
    queryKey: ["nodes", "secret", secret],
    queryFn: async ({ signal }): Promise<SecretNode | null> => {
      const found = await client.ask(searchNodes, { query: { node_type: "Resource", search: secret.slice(0, 200), limit: 500 }, signal });
      const node = found.find(({ external_id: id, properties }) => id === secret && properties["type"] === "secret");
      if (node === undefined) return null;
      const { attributes } = node.properties;
      return { id: node.id, attributes: typeof attributes === "object" && attributes !== null ? { ...attributes } : {} };
    },
  });

/** An id that no other secret's node has, with what an id cannot hold put otherwise. */
const idOf = (secret: string, tenant: string): string =>
  `resource:${tenant.replace(/^tenant:/, "")}.secret.${secret
    .replace("://", ".")
    .replaceAll("/", ":")
    .replaceAll(/[^\w.:@+~-]/g, "~")}`.slice(0, 200);

/** Names a system on a secret: its calls may use it from then on, and nobody else's. */
export const nameOnSecret = async (
  client: Client,
  { secret, system, tenant, reason, node }: { secret: string; system: string; tenant: string; reason: string; node: SecretNode | null },
) =>
  node === null
    ? await client.ask(putGraphNode, {
        params: { id: idOf(secret, tenant) },
        headers: { "if-none-match": "*" },
        body: {
          kind: "Resource",
          name: secret.slice(0, 256),
          system: "sallyport",
          external_id: secret,
          props: { type: "secret", attributes: { used_by: system } },
          reason,
        },
      })
    : await client.ask(patchGraphNode, {
        params: { id: node.id },
        headers: { "if-match": "*" },
        body: { props: { attributes: { used_by: system } }, reason },
      });
