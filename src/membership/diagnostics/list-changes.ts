import { statement, type Sql } from "#store/database.ts";
import type { TenantScope } from "#membership/graph/tenant-scope.ts";

export interface ChangesAsk {
  /** Only versions after this one. */
  readonly after: bigint;
  readonly until?: number | undefined;
  readonly nodeId?: string | undefined;
  readonly actor?: string | undefined;
  readonly source?: string | undefined;
  readonly limit: number;
}

interface ChangeRow {
  readonly version: bigint;
  readonly at: string;
  readonly actor: string;
  readonly agent: string | null;
  readonly source: string;
  readonly reason: string | null;
  readonly correlation_id: string;
  readonly tenant_id: string | null;
  readonly ops: { op: "put_node" | "drop_node" | "put_edge" | "drop_edge"; subject: string; before: unknown; after: unknown }[];
}

/** A row that was altered is seen like the row itself: by its tenant, by all if it is shared. */
const seen = `($1::text = '*' or coalesce(o.after, o.before) ->> 'tenant_id' is null or coalesce(o.after, o.before) ->> 'tenant_id' = $1)`;

const CHANGES = statement<ChangeRow>(
  "membership.graph_changes",
  `select c.version, c.at, c.actor, c.agent, c.source, c.reason, c.correlation_id, c.tenant_id, ops.ops
   from membership.graph_change c
   cross join lateral (
     select json_agg(json_build_object('op', o.op, 'subject', o.subject, 'before', o.before, 'after', o.after) order by o.seq) as ops
     from membership.graph_change_op o where o.version = c.version and ${seen}) ops
   where c.version > $2 and ($3::bigint is null or c.version <= $3) and ops.ops is not null
     and ($1::text = '*' or c.tenant_id is null or c.tenant_id = $1)
     and ($4::text is null or exists (
       select 1 from membership.graph_change_op o where o.version = c.version and $4 in (o.subject, o.src, o.dst) and ${seen}))
     and ($5::text is null or c.actor = $5) and ($6::text is null or c.source = $6)
   order by c.version limit $7`,
);

/** Versions that altered something the tenant sees, oldest first, each with the ops it sees. */
export const readChanges = async (sql: Sql, scope: TenantScope, ask: ChangesAsk) => {
  const rows = await sql.run(CHANGES, [
    scope.tenant,
    ask.after,
    ask.until ?? null,
    ask.nodeId ?? null,
    ask.actor ?? null,
    ask.source ?? null,
    ask.limit,
  ]);
  return rows.map((row) => ({
    version: Number(row.version),
    at: row.at,
    actor: row.actor,
    agent: row.agent ?? undefined,
    source: row.source,
    reason: row.reason ?? undefined,
    correlation_id: row.correlation_id,
    tenant_id: row.tenant_id,
    ops: row.ops.map(({ op, subject, before, after }) => ({
      op,
      subject,
      before: before ?? undefined,
      after: after ?? undefined,
    })),
  }));
};
