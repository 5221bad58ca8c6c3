import { statement, type Sql } from "#store/database.ts";
import type { TenantScope } from "#membership/graph/tenant-scope.ts";

/** Behind this op of this version a page begins. */
export interface ChangePlace {
  readonly version: bigint;
  readonly seq: number;
}

export interface ChangesAsk {
  readonly after: ChangePlace;
  readonly until?: number | undefined;
  readonly nodeId?: string | undefined;
  readonly actor?: string | undefined;
  readonly source?: string | undefined;
  /** Most versions. */
  readonly limit: number;
}

interface OpRow {
  readonly version: bigint;
  readonly at: string;
  readonly actor: string;
  readonly agent: string | null;
  readonly source: string;
  readonly reason: string | null;
  readonly correlation_id: string;
  readonly tenant_id: string | null;
  readonly seq: number;
  readonly op: "put_node" | "drop_node" | "put_edge" | "drop_edge";
  readonly subject: string;
  readonly before: unknown;
  readonly after: unknown;
  /** How many there would be but for their length. */
  readonly found: number;
}

/** Of one page: a file may have written a version of any number of rows. */
const MAX_OPS = 1_000;
const MAX_BYTES = 1_048_576;

/** A row that was altered is seen like the row itself: by its tenant, by all if it is shared. */
const seen = `($1::text = '*' or coalesce(o.after, o.before) ->> 'tenant_id' is null or coalesce(o.after, o.before) ->> 'tenant_id' = $1)`;
/** $2 version and $8 number of the op that the page begins behind. */
const OPS = `membership.graph_change_op o where o.version = c.version and (o.version > $2 or o.seq > $8) and ${seen}`;

const CHANGES = statement<OpRow>(
  "membership.graph_changes",
  `select * from (
     select c.*, o.*, count(*) over ()::int as found, sum(o.bytes) over (order by c.version, o.seq) - o.bytes as bytes_before
     from (
       select c.version, c.at, c.actor, c.agent, c.source, c.reason, c.correlation_id, c.tenant_id from membership.graph_change c
       where c.version >= $2 and ($3::bigint is null or c.version <= $3) and exists (select 1 from ${OPS})
         and ($1::text = '*' or c.tenant_id is null or c.tenant_id = $1)
         and ($4::text is null or exists (
           select 1 from membership.graph_change_op o where o.version = c.version and $4 in (o.subject, o.src, o.dst) and ${seen}))
         and ($5::text is null or c.actor = $5) and ($6::text is null or c.source = $6)
       order by c.version limit $7 + 1) c
     cross join lateral (
       select o.seq, o.op, o.subject, o.before, o.after,
         coalesce(octet_length(o.before::text), 0) + coalesce(octet_length(o.after::text), 0) as bytes
       from ${OPS} order by o.seq limit ${MAX_OPS + 1}) o
     order by c.version, o.seq limit ${MAX_OPS + 1}) page
   where page.bytes_before <= ${MAX_BYTES} order by page.version, page.seq`,
);

const itemOf = (ops: readonly OpRow[], first: OpRow) => ({
  version: Number(first.version),
  at: first.at,
  actor: first.actor,
  agent: first.agent ?? undefined,
  source: first.source,
  reason: first.reason ?? undefined,
  correlation_id: first.correlation_id,
  tenant_id: first.tenant_id,
  ops: ops.map(({ op, subject, before, after }) => ({ op, subject, before: before ?? undefined, after: after ?? undefined })),
});

/**
 * Versions that altered something the tenant sees, oldest first, each with the ops it sees, and where the next page begins. A page holds so
 * many ops: a version of more goes on in the next.
 */
export const readChanges = async (sql: Sql, scope: TenantScope, ask: ChangesAsk) => {
  const rows = await sql.run(CHANGES, [
    scope.tenant,
    ask.after.version,
    ask.until ?? null,
    ask.nodeId ?? null,
    ask.actor ?? null,
    ask.source ?? null,
    ask.limit,
    ask.after.seq,
  ]);
  const versions = [...Map.groupBy(rows.slice(0, MAX_OPS), ({ version }) => version).values()].slice(0, ask.limit);
  const kept = versions.flat();
  const last = kept.at(-1);
  const isMore = last !== undefined && kept.length < (rows[0]?.found ?? 0);
  return {
    items: versions.flatMap((ops) => (ops[0] === undefined ? [] : [itemOf(ops, ops[0])])),
    next: isMore ? { version: last.version, seq: last.seq } : undefined,
  };
};
