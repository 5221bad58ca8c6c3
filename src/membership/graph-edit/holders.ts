import { dropEdges, lockEdgesOf, type KeptEdge } from "#membership/graph/drop-edge.ts";
import { putEdge, type EdgeDraft } from "#membership/graph/put-edge.ts";
import type { Outcome } from "#membership/graph/put-node.ts";
import { sentAs } from "#membership/graph/row-refusal.ts";
import type { TenantScope } from "#membership/graph/tenant-scope.ts";
import type { GraphTransaction } from "#membership/graph/write.ts";

export type Level = "primary" | "deputy";

/** Who controls an agent or owns a thing. */
export interface Holder {
  readonly kind: "CONTROLLED_BY" | "OWNS_RESOURCE";
  readonly thing: string;
  readonly holder: string;
  readonly level: Level;
}

const edgeOf = ({ kind, thing, holder, level }: Holder): EdgeDraft => ({
  kind,
  ...(kind === "CONTROLLED_BY" ? { src: thing, dst: holder } : { src: holder, dst: thing }),
  props: { level },
});

/** Edges of holders of the thing, as this tenant has them. */
const lockHolders = async (tx: GraphTransaction, scope: TenantScope, { kind, thing }: Holder): Promise<readonly KeptEdge[]> => {
  const end = kind === "CONTROLLED_BY" ? "src" : "dst";
  return (await lockEdgesOf(tx.sql, thing, kind)).filter(
    (edge) => edge[end] === thing && (scope.tenant === "*" || edge.tenant_id === scope.tenant),
  );
};

/** There is one primary holder: a new one makes the old one a deputy, in the same version. Issues of the holder are at the `member` that named it. */
export const putHolder = async (tx: GraphTransaction, scope: TenantScope, given: Holder, member: string): Promise<Outcome> => {
  if (given.level === "primary")
    for (const edge of await lockHolders(tx, scope, given)) {
      const holder = given.kind === "CONTROLLED_BY" ? edge.dst : edge.src;
      if (holder === given.holder || edge.props["level"] !== "primary") continue;
      const ends = edge.expires_at === null ? {} : { expires_at: new Date(edge.expires_at) };
      await putEdge(tx, { ...edgeOf({ ...given, holder, level: "deputy" }), ...ends }, scope);
    }
  const ends = given.kind === "CONTROLLED_BY" ? { src: "", dst: member } : { src: member, dst: "" };
  return putEdge(tx, edgeOf(given), scope, sentAs({ ...ends, kind: member }));
};

/** Takes one holder away; `mayOrphan`: even the last controller. Answers whether there was such a one. */
export const dropHolder = async (
  tx: GraphTransaction,
  scope: TenantScope,
  given: Omit<Holder, "level">,
  mayOrphan = false,
): Promise<boolean> => {
  const end = given.kind === "CONTROLLED_BY" ? "dst" : "src";
  const held = (await lockHolders(tx, scope, { ...given, level: "deputy" })).filter((edge) => edge[end] === given.holder);
  if (held.length > 0) await dropEdges(tx, scope, held, new Set(mayOrphan ? [given.thing] : []));
  return held.length > 0;
};
