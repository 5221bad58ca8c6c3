import type { IdentityNode } from "#contract/membership.ts";
import { labelsOfKind } from "#membership/graph/kinds.ts";
import type { GraphNode } from "#membership/graph/graph-reader.ts";

/** A node as the wire shows it. */
export const nodeView = (node: GraphNode): IdentityNode => ({
  id: node.id,
  name: node.name,
  node_type: node.kind,
  labels: [...labelsOfKind(node.kind)],
  display_name: node.display_name ?? undefined,
  system: node.system ?? undefined,
  state: node.state,
  tenant_id: node.tenant_id,
  external_id: node.external_id ?? undefined,
  properties: { ...node.props },
  created_at: node.created_at,
  updated_at: node.updated_at,
  relationships: { out: { ...node.out }, in: { ...node.in } },
});

/** Sums of a page's relationships, by kind. */
export const sumRelationships = (nodes: readonly GraphNode[]): IdentityNode["relationships"] => {
  const add = (into: Record<string, number>, counts: Readonly<Record<string, number>>): Record<string, number> => {
    for (const [kind, count] of Object.entries(counts)) into[kind] = (into[kind] ?? 0) + count;
    return into;
  };
  return {
    out: nodes.reduce<Record<string, number>>((sums, node) => add(sums, node.out), {}),
    in: nodes.reduce<Record<string, number>>((sums, node) => add(sums, node.in), {}),
  };
};
