import { createHash } from "node:crypto";
import { canonicalJson } from "#contract/canonical-json.ts";
import { Problem } from "#contract/problem.ts";
import { statement, type Sql } from "#store/database.ts";
import { edgeKindRow, mayJoin, type EdgeKind, type NodeKind } from "./kinds.ts";
import type { GraphTransaction } from "./write.ts";

export interface EdgeDraft {
  readonly kind: EdgeKind;
  readonly src: string;
  readonly dst: string;
  readonly discr?: string;
  readonly props?: Readonly<Record<string, unknown>>;
  /** Of a capability: digest of the definition that its owner approved. */
  readonly digest?: string;
  readonly expires_at?: Date;
}

interface EdgeRow {
  readonly id: string;
  readonly kind: string;
  readonly src: string;
  readonly dst: string;
  readonly discr: string;
  readonly tenant_id: string | null;
  readonly digest: string | null;
  readonly props: Readonly<Record<string, unknown>>;
  readonly expires_at: string | null;
}

const COLUMNS = "id, kind, src, dst, discr, tenant_id, digest, props, expires_at";
const ENDS = statement<{ id: string; kind: NodeKind; tenant_id: string | null }>(
  "membership.edge_ends",
  "select id, kind, tenant_id from membership.node where id = any($1) for key share",
);
const FIND = statement<EdgeRow & { readonly rev: bigint }>(
  "membership.edge_for_update",
  `select ${COLUMNS}, rev from membership.edge where kind = $1 and src = $2 and dst = $3 and discr = $4 for update`,
);
const INSERT = statement(
  "membership.edge_insert",
  `insert into membership.edge (${COLUMNS}) values ($1, $2, $3, $4, $5, $6, $7, $8::jsonb, $9)`,
);
const UPDATE = statement(
  "membership.edge_update",
  "update membership.edge set digest = $2, props = $3::jsonb, expires_at = $4, rev = rev + 1 where id = $1",
);
const LOCK_KIND = statement("membership.edge_kind_lock", "select pg_advisory_xact_lock(hashtextextended('membership.edge.' || $1, 0))");
const LEADS_BACK = statement<{ back: boolean; below: number; above: number }>(
  "membership.edge_leads_back",
  `with recursive down(id, depth) as (
     select $2::text collate "C", 0 union
     select e.dst, d.depth + 1 from down d join membership.edge e on e.src = d.id and e.kind = $1 where d.depth < 32),
   up(id, depth) as (
     select $3::text collate "C", 0 union
     select e.src, u.depth + 1 from up u join membership.edge e on e.dst = u.id and e.kind = $1 where u.depth < 32)
   select exists (select 1 from down where id = $3) as back, (select max(depth) from down) as below, (select max(depth) from up) as above`,
);

/** Edges other than delegations have an id made of what they join, so that writing one twice is writing one. */
export const edgeIdOf = (kind: string, src: string, dst: string, discr: string): string =>
  `edge:${createHash("sha256").update([kind, src, dst, discr].join("\n")).digest("hex").slice(0, 32)}`;

const requireAcyclic = async (sql: Sql, draft: EdgeDraft): Promise<void> => {
  const { acyclic, depth } = edgeKindRow(draft.kind);
  if (acyclic !== true) return;
  // Two edges written at once could close a ring that neither sees: such kinds are written one at a time.
  await sql.run(LOCK_KIND, [draft.kind]);
  const [found] = await sql.run(LEADS_BACK, [draft.kind, draft.dst, draft.src]);
  if (found?.back === true) throw new Problem("cycle", { detail: `${draft.kind} from ${draft.src} to ${draft.dst} would close a ring.` });
  const length = (found?.above ?? 0) + 1 + (found?.below ?? 0);
  if (depth !== undefined && length > depth)
    throw new Problem("unprocessable", { detail: `${draft.kind} nests at most ${depth} deep; this would make ${length}.` });
};

/** Checks that the two nodes may be joined so, and gives the tenant the edge belongs to (null between shared nodes). */
export const requireJoinable = async (sql: Sql, draft: EdgeDraft): Promise<string | null> => {
  const ends = await sql.run(ENDS, [[draft.src, draft.dst]]);
  const from = ends.find((end) => end.id === draft.src);
  const to = ends.find((end) => end.id === draft.dst);
  if (from === undefined || to === undefined || draft.src === draft.dst)
    throw new Problem("unprocessable", { detail: `${draft.kind} needs two different nodes that are there.` });
  if (!mayJoin(draft.kind, from.kind, to.kind)) {
    const legal = edgeKindRow(draft.kind).pairs.map(([sources, targets]) => `${sources.join(", ")} -> ${targets.join(", ")}`);
    throw new Problem("edge_not_allowed", { detail: `${from.kind} -> ${to.kind}. ${draft.kind} joins ${legal.join("; ")}.` });
  }
  if (from.tenant_id !== null && to.tenant_id !== null && from.tenant_id !== to.tenant_id) throw new Problem("cross_tenant");
  const props = edgeKindRow(draft.kind).props.safeParse(draft.props ?? {});
  if (!props.success)
    throw new Problem("unprocessable", {
      errors: props.error.issues.map((issue) => ({ path: `/props/${issue.path.map(String).join("/")}`, message: issue.message })),
    });
  return from.tenant_id ?? to.tenant_id;
};

/** Writes an edge as drafted; an equal one is left alone. Not for DELEGATES_TO, whose rows are more than an edge. */
export const putEdge = async (tx: GraphTransaction, draft: EdgeDraft): Promise<void> => {
  const tenantId = await requireJoinable(tx.sql, draft);
  const discr = draft.discr ?? "";
  const [found] = await tx.sql.run(FIND, [draft.kind, draft.src, draft.dst, discr]);
  const { rev: _rev, ...before } = found ?? { rev: 0n };
  const after: EdgeRow = {
    id: found?.id ?? edgeIdOf(draft.kind, draft.src, draft.dst, discr),
    kind: draft.kind,
    src: draft.src,
    dst: draft.dst,
    discr,
    tenant_id: tenantId,
    digest: draft.digest ?? null,
    props: draft.props ?? {},
    expires_at: draft.expires_at?.toISOString() ?? null,
  };
  if (found !== undefined && canonicalJson(before) === canonicalJson(after)) return;
  if (found === undefined) {
    await requireAcyclic(tx.sql, draft);
    const { id, kind, src, dst } = after;
    await tx.sql.run(INSERT, [id, kind, src, dst, discr, tenantId, after.digest, JSON.stringify(after.props), after.expires_at]);
  } else await tx.sql.run(UPDATE, [after.id, after.digest, JSON.stringify(after.props), after.expires_at]);
  tx.record({
    op: "put_edge",
    subject: after.id,
    kind: after.kind,
    src: after.src,
    dst: after.dst,
    ...(found === undefined ? {} : { before: { ...before, rev: Number(found.rev) } }),
    after: { ...after, rev: Number(found?.rev ?? 0n) + 1 },
  });
};
