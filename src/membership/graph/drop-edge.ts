import { Problem } from "#contract/problem.ts";
import { statement, type Sql } from "#store/database.ts";
import type { EdgeKind } from "#membership/model/kinds.ts";
import { unexpired } from "./sql-parts.ts";
import { BUILT_IN_SYSTEM, mayWriteShared, type TenantScope } from "./tenant-scope.ts";
import type { GraphTransaction } from "./write.ts";

/** An edge as it is kept. */
export interface EdgeRow {
  readonly id: string;
  readonly kind: EdgeKind;
  readonly src: string;
  readonly dst: string;
  readonly discr: string;
  readonly tenant_id: string | null;
  readonly digest: string | null;
  readonly props: Readonly<Record<string, unknown>>;
  readonly expires_at: string | null;
}

export type KeptEdge = EdgeRow & { readonly rev: bigint };

/** Columns of `KeptEdge` over `e`. */
export const EDGE = "e.id, e.kind, e.src, e.dst, e.discr, e.tenant_id, e.digest, e.props, e.expires_at, e.rev";
const OF_ENDS = `select ${EDGE} from membership.edge e where e.kind = $1 and e.src = $2 and e.dst = $3 and e.discr = $4`;
const READ = statement<KeptEdge>("membership.edge_of_ends_read", `${OF_ENDS} and ${unexpired("e")}`);
const FIND = statement<KeptEdge>("membership.edge_of_ends", `${OF_ENDS} and ${unexpired("e")} for update`);
const WRITTEN = statement<KeptEdge>("membership.edge_of_ends_written", OF_ENDS);
const AROUND = statement<KeptEdge>(
  "membership.edges_of_node",
  `select ${EDGE} from membership.edge e
   where (e.src = $1 or e.dst = $1 or (e.kind = 'HAS_RTR_AT' and e.discr = $1)) and ($2::text is null or e.kind = $2) order by e.id for update`,
);
const FROM = statement<KeptEdge>(
  "membership.edges_from",
  `select ${EDGE} from membership.edge e where e.kind = $1 and e.src = any($2) and e.dst = $3 order by e.id for update`,
);
/** Those that join what came with the deployment. */
const OF_DEPLOYMENT = statement<{ id: string }>(
  "membership.edges_of_deployment",
  `select e.id from membership.edge e join membership.node s on s.id = e.src join membership.node d on d.id = e.dst
   where e.id = any($1) and e.tenant_id is null and s.system = '${BUILT_IN_SYSTEM}' and d.system = '${BUILT_IN_SYSTEM}'`,
);
const DELETE = statement("membership.edges_delete", "delete from membership.edge where id = any($1)");
const CONTROLLED = statement<{ id: string }>(
  "membership.controlled_of",
  `select a.id from unnest($1::text[]) a(id) where exists (
     select 1 from membership.edge e where e.src = a.id and e.kind = 'CONTROLLED_BY' and ${unexpired("e")})`,
);
const EXPIRED = statement<KeptEdge>(
  "membership.expired_holders",
  `delete from membership.edge e
   using jsonb_to_recordset($1::jsonb) as g(kind text, src text, dst text, discr text, tenant_id text, props jsonb)
   where e.expires_at <= now() and e.kind = g.kind and e.id <> all($2) and (
     (e.src = g.src and e.dst = g.dst and e.discr = g.discr)
     or (e.kind in ('BELONGS_TO', 'PROVIDES', 'PROVIDES_RESOURCE', 'OFFERS_PROMPT') and e.dst = g.dst)
     or (e.props ->> 'level' = 'primary' and g.props ->> 'level' = 'primary' and (
       (e.kind = 'CONTROLLED_BY' and e.src = g.src)
       or (e.kind = 'OWNS_RESOURCE' and e.dst = g.dst and e.tenant_id is not distinct from g.tenant_id))))
   returning ${EDGE}`,
);

const record = (tx: GraphTransaction, { rev, ...row }: KeptEdge): void =>
  tx.record({ op: "drop_edge", subject: row.id, kind: row.kind, src: row.src, dst: row.dst, before: { ...row, rev: Number(rev) } });

/** Takes away ended edges that keep the place of those given, but none of `kept`; how many. */
export const dropExpiredHolders = async (tx: GraphTransaction, edges: readonly EdgeRow[], kept: readonly EdgeRow[]): Promise<number> => {
  const dropped = await tx.sql.run(EXPIRED, [JSON.stringify(edges), kept.map(({ id }) => id)]);
  for (const row of dropped) record(tx, row);
  return dropped.length;
};

const edgeBy =
  (find: typeof FIND) =>
  async (sql: Sql, scope: TenantScope, ends: Pick<EdgeRow, "kind" | "src" | "dst" | "discr">): Promise<KeptEdge | undefined> => {
    const [row] = await sql.run(find, [ends.kind, ends.src, ends.dst, ends.discr]);
    return row === undefined || (scope.tenant !== "*" && row.tenant_id !== null && row.tenant_id !== scope.tenant) ? undefined : row;
  };

/** The edge between the two; `undefined`: there is none, or not for this tenant, or it has ended. */
export const readEdge = edgeBy(READ);

/** The same, locked. */
export const lockEdge = edgeBy(FIND);

/** What was just written, which may have been its end. */
export const readWritten = edgeBy(WRITTEN);

/** All edges of a node (of a role also those that give it on something), or those of one kind, of whatever tenant, locked: whoever spends over one of them waits. */
export const lockEdgesOf = (sql: Sql, id: string, kind?: EdgeKind): Promise<readonly KeptEdge[]> => sql.run(AROUND, [id, kind ?? null]);

/** Those of one kind that lead from these nodes to one, locked. Cost: by those named, however many lead there. */
export const lockEdgesFrom = (sql: Sql, kind: EdgeKind, from: readonly string[], to: string): Promise<readonly KeptEdge[]> =>
  sql.run(FROM, [kind, [...from], to]);

/**
 * Takes locked edges away. Throws `edge_not_allowed` for a delegation, which is ended and not taken away; `access_denied` for what is
 * shared; `last_controller` where an agent would be left to nobody, but those that `mayOrphan` names.
 */
export const dropEdges = async (
  tx: GraphTransaction,
  scope: TenantScope,
  rows: readonly KeptEdge[],
  mayOrphan: ReadonlySet<string> = new Set(),
): Promise<void> => {
  if (rows.some(({ kind }) => kind === "DELEGATES_TO"))
    throw new Problem("edge_not_allowed", { detail: "A delegation is revoked at /api/v1/delegations; its record stays." });
  if (rows.some(({ tenant_id }) => tenant_id === null) && !mayWriteShared(scope))
    throw new Problem("access_denied", { detail: "What is shared is parted by who runs the deployment (role:platform) alone." });
  const ids = rows.map(({ id }) => id);
  if (scope.tenant !== "*" && (await tx.sql.run(OF_DEPLOYMENT, [ids])).length > 0)
    throw new Problem("access_denied", { detail: "What came with the deployment is parted by nobody." });
  await tx.sql.run(DELETE, [ids]);
  const controlled = rows.filter(({ kind, src }) => kind === "CONTROLLED_BY" && !mayOrphan.has(src));
  const agents = [...new Set(controlled.map(({ src }) => src))];
  if (agents.length > 0) {
    const kept = new Set((await tx.sql.run(CONTROLLED, [agents])).map(({ id }) => id));
    const orphan = agents.find((id) => !kept.has(id));
    if (orphan !== undefined) throw new Problem("last_controller", { detail: `${orphan} would have no controller left.` });
  }
  for (const row of rows) record(tx, row);
};
