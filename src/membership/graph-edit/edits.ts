import type { SentEdge, SentNode } from "#contract/graph-edit.ts";
import { Problem } from "#contract/problem.ts";
import type { Sql } from "#store/database.ts";
import { dropEdges, lockEdge } from "#membership/graph/drop-edge.ts";
import { dropNode } from "#membership/graph/drop-node.ts";
import { edgeKindNames, isEdgeKind, isNodeKind, nodeKindNames, type EdgeKind } from "#membership/model/kinds.ts";
import { putEdge, type EdgeDraft } from "#membership/graph/put-edge.ts";
import { lockNodes, present, putNode, type NodeDraft, type KeptNode, type NodeRow, type Outcome } from "#membership/graph/put-node.ts";
import { BUILT_IN_SYSTEM, mayWriteShared, type TenantScope } from "#membership/graph/tenant-scope.ts";
import type { GraphTransaction } from "#membership/graph/write.ts";

/** What may be done to the graph in one step, as it is sent. */
export type GraphEdit =
  | { readonly op: "put_node"; readonly node: SentNode }
  | { readonly op: "drop_node"; readonly id: string; readonly cascade: boolean }
  | { readonly op: "put_edge"; readonly edge: SentEdge }
  | { readonly op: "drop_edge"; readonly edge: EdgeEnds };
export type EdgeEnds = Pick<SentEdge, "kind" | "src" | "dst" | "discr">;

const unknownKind = (known: readonly string[]): Problem => {
  const message = `must be one of ${known.join(", ")}`;
  return new Problem("unprocessable", { detail: `kind ${message}`, errors: [{ path: "/kind", message }] });
};

/** The tenant whose part a writer writes; Sallyport itself writes what is shared. */
export const tenantOfWriter = (scope: TenantScope): string | null => (scope.tenant === "*" ? null : scope.tenant);

/** Of the tenant, unless it says that it is shared. Throws `unprocessable` for a kind that there is not. */
export const nodeDraftOf = (sent: SentNode, tenantId: string | null): NodeDraft => {
  if (!isNodeKind(sent.kind)) throw unknownKind(nodeKindNames);
  return { ...sent, kind: sent.kind, tenant_id: sent.tenant_id === null ? null : tenantId };
};

/** A kept node as it would be written again: what it does not have is left out. */
export const draftOfRow = ({ rev: _rev, tenant_id, ...row }: KeptNode): NodeDraft => {
  return { ...(present(row) as Omit<NodeDraft, "tenant_id">), tenant_id };
};

export const edgeKindOf = (kind: string): EdgeKind => {
  if (!isEdgeKind(kind)) throw unknownKind(edgeKindNames);
  return kind;
};

export const edgeDraftOf = ({ expires_at, ...sent }: SentEdge): EdgeDraft => ({
  ...sent,
  kind: edgeKindOf(sent.kind),
  expires_at: expires_at === undefined ? undefined : new Date(expires_at),
});

/** The writer may know that the node is there. */
export const isSeen = ({ tenant }: TenantScope, { tenant_id: own }: NodeRow): boolean => tenant === "*" || own === null || own === tenant;

/** Throws `access_denied` for what is shared, unless the writer may write that too; what came with the deployment itself stays its own. */
export const requireOwn = (scope: TenantScope, { tenant_id: own, system }: NodeRow): void => {
  if (own !== null || (mayWriteShared(scope) && (scope.tenant === "*" || system !== BUILT_IN_SYSTEM))) return;
  throw new Problem("access_denied", { detail: "What is shared is changed by who runs the deployment (role:platform) alone." });
};

/** The writer's own node, locked. Throws `not_found` for what is not there or not theirs to see, `access_denied` for what is shared. */
export const requireOwnNode = async (sql: Sql, scope: TenantScope, id: string): Promise<KeptNode> => {
  const row = (await lockNodes(sql, [id])).get(id);
  if (row === undefined || !isSeen(scope, row)) throw new Problem("not_found");
  requireOwn(scope, row);
  return row;
};

export const requireEdge = async (sql: Sql, scope: TenantScope, ends: EdgeEnds) => {
  const row = await lockEdge(sql, scope, { ...ends, kind: edgeKindOf(ends.kind), discr: ends.discr ?? "" });
  if (row === undefined) throw new Problem("not_found");
  return row;
};

/** One step of a write. Every writer of the graph's rows goes through here or through the bulk form of the same functions. */
export const applyEdit = async (tx: GraphTransaction, scope: TenantScope, edit: GraphEdit): Promise<Outcome | "gone"> => {
  switch (edit.op) {
    case "put_node":
      return putNode(tx, nodeDraftOf(edit.node, tenantOfWriter(scope)), scope);
    case "put_edge":
      return putEdge(tx, edgeDraftOf(edit.edge), scope);
    case "drop_node":
      await dropNode(tx, scope, await requireOwnNode(tx.sql, scope, edit.id), edit.cascade);
      return "gone";
    case "drop_edge":
      await dropEdges(tx, scope, [await requireEdge(tx.sql, scope, edit.edge)]);
      return "gone";
  }
};
