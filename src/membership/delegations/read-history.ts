import { statement, type Sql } from "#store/database.ts";
import type { TenantScope } from "#membership/graph/tenant-scope.ts";

/** Terms may be long (schemas of arguments), and somebody may change them again and again. */
const MAX = 200;
const MAX_BYTES = 1_048_576;

const HISTORY = statement<{
  version: bigint;
  at: string;
  actor: string;
  source: string;
  reason: string | null;
  before: unknown;
  after: unknown;
  /** How many there would be but for their length. */
  found: number;
}>(
  "membership.delegation_history",
  `select * from (
     select c.version, c.at, c.actor, c.source, c.reason, o.seq, o.before, o.after, count(*) over ()::int as found,
       sum(o.bytes) over (order by o.version desc, o.seq desc) - o.bytes as bytes_behind
     from (
       select o.version, o.seq, o.before, o.after, coalesce(octet_length(o.before::text), 0) + coalesce(octet_length(o.after::text), 0) as bytes
       from membership.graph_change_op o
       where o.subject = $2 and ($1::text = '*' or coalesce(o.after, o.before) ->> 'tenant_id' = $1)
       order by o.version desc, o.seq desc limit ${MAX + 1}) o
     join membership.graph_change c on c.version = o.version) h
   where h.bytes_behind <= ${MAX_BYTES} order by h.version, h.seq`,
);

/** Who changed a delegation, when and why: the last 200 changes, or a megabyte of them, oldest first; `truncated`: there are earlier ones. */
export const readHistory = async (sql: Sql, scope: TenantScope, id: string) => {
  const rows = await sql.run(HISTORY, [scope.tenant, id]);
  const kept = rows.slice(-MAX);
  return {
    items: kept.map((row) => ({
      version: Number(row.version),
      at: row.at,
      actor: row.actor,
      source: row.source,
      reason: row.reason ?? undefined,
      before: row.before,
      after: row.after,
    })),
    truncated: kept.length < (rows[0]?.found ?? 0),
  };
};
