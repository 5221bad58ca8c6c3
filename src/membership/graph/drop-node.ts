import { Problem } from "#contract/problem.ts";
import { statement } from "#store/database.ts";
import { dropEdges, lockEdgesOf } from "./drop-edge.ts";
import type { KeptNode } from "./put-node.ts";
import type { TenantScope } from "./tenant-scope.ts";
import type { GraphTransaction } from "./write.ts";

const DELETE = statement("membership.node_delete", "delete from membership.node where id = $1");

/**
 * Takes a locked node away, with its edges where `cascade` says so. Throws `has_edges`, of delegations too: those are kept, and who had
 * one is disabled and not forgotten.
 */
export const dropNode = async (tx: GraphTransaction, scope: TenantScope, { rev, ...row }: KeptNode, cascade: boolean): Promise<void> => {
  const edges = await lockEdgesOf(tx.sql, row.id);
  if (edges.some(({ kind }) => kind === "DELEGATES_TO"))
    throw new Problem("has_edges", { detail: "It has delegations, which are kept: set its state to disabled instead." });
  if (edges.length > 0 && !cascade)
    throw new Problem("has_edges", { detail: "Take its edges away first, or all at once with cascade=true." });
  if (edges.length > 0) await dropEdges(tx, scope, edges, new Set([row.id]));
  await tx.sql.run(DELETE, [row.id]);
  tx.record({ op: "drop_node", subject: row.id, kind: row.kind, before: { ...row, rev: Number(rev) } });
};
