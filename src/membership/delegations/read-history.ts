import { statement, type Sql } from "#store/database.ts";
import type { TenantScope } from "#membership/graph/tenant-scope.ts";

const HISTORY = statement<{
  version: bigint;
  at: string;
  actor: string;
  source: string;
  reason: string | null;
  before: unknown;
  after: unknown;
}>(
  "membership.delegation_history",
  `select c.version, c.at, c.actor, c.source, c.reason, o.before, o.after from membership.graph_change_op o
   join membership.graph_change c on c.version = o.version
   where o.subject = $2 and ($1::text = '*' or coalesce(o.after, o.before) ->> 'tenant_id' = $1) order by o.version, o.seq limit 1000`,
);

/** Who changed a delegation, when and why; oldest first. */
export const readHistory = async (sql: Sql, scope: TenantScope, id: string) =>
  (await sql.run(HISTORY, [scope.tenant, id])).map((row) => ({
    version: Number(row.version),
    at: row.at,
    actor: row.actor,
    source: row.source,
    reason: row.reason ?? undefined,
    before: row.before,
    after: row.after,
  }));
