import type { CandidateAsk } from "#contract/facts.ts";
import { statement, type Sql, type SqlValue, type Statement } from "#store/database.ts";
import { lookupOf } from "./facts-plan.ts";
import type { Answered } from "./graph-reader.ts";
import { identityKinds } from "#membership/model/kinds.ts";
import { HEAD, pipTimeout, unexpired } from "./sql-parts.ts";
import { visible, type TenantScope } from "./tenant-scope.ts";

/** $1 scope; $2 only behind this id, or null; $3 most; $4 tenant that it belongs to, or null for any. */
const inTenant = (alias: string): string => `(${alias}.tenant_id is null or $4::text is null or ${alias}.tenant_id = $4)`;
const behind = (id: string): string => `($2::text is null or ${id} collate "C" > $2::text)`;

interface Row {
  readonly version: bigint;
  /** null: there is none. */
  readonly id: string | null;
}
/** The ids that `found` selects, in byte order, of one snapshot with the version. */
const candidates = (name: string, found: string) =>
  statement<Row>(
    `membership.candidate_${name}`,
    `select ${HEAD} as version, found.id from (select 1) one left join lateral (${found}) found on true order by found.id collate "C"`,
    pipTimeout,
  );

/** Whoever belongs to the tenant, at home there or not. */
const SUBJECTS = candidates(
  "subjects",
  `select n.id from membership.node n
   where n.kind = any($5::text[]) and ${visible("n")} and ${behind("n.id")}
     and (${inTenant("n")} or exists (
       select 1 from membership.edge e
       where e.src = n.id and e.dst = $4 and e.kind in ('BELONGS_TO', 'USES_TENANT') and ${unexpired("e")}))
   order by n.id collate "C" limit $3`,
);
const NODES = candidates(
  "nodes",
  `select n.id from membership.node n
   where (cardinality($5::text[]) = 0 or n.kind = any($5::text[])) and ${visible("n")} and ${inTenant("n")} and ${behind("n.id")}
   order by n.id collate "C" limit $3`,
);
const RESOURCES = candidates(
  "resources",
  `select distinct n.external_id collate "C" as id from membership.node n
   where n.kind = 'Resource' and n.props ->> 'type' = $5 and n.external_id is not null
     and ${visible("n")} and ${inTenant("n")} and ${behind("n.external_id")}
   order by 1 limit $3`,
);
const DELEGATIONS = candidates(
  "delegations",
  `select d.id from membership.delegation d where ${visible("d")} and ${inTenant("d")} and ${behind("d.id")}
   order by d.id collate "C" limit $3`,
);

/** Ids that a search has to look at, in byte order: whatever an ask of this type and action could name. One statement. */
export const readCandidates = async (sql: Sql, scope: TenantScope, ask: CandidateAsk): Promise<Answered<readonly string[]>> => {
  const common = [scope.tenant, ask.after ?? null, ask.limit, ask.tenant_id ?? null] as const;
  const read = async (wanted: Statement<Row>, ...more: readonly SqlValue[]): Promise<Answered<readonly string[]>> => {
    const rows = await sql.run(wanted, [...common, ...more]);
    return { version: rows[0]?.version ?? 0n, value: rows.flatMap(({ id }) => id ?? []) };
  };
  if (ask.of === "subject") return read(SUBJECTS, ask.type === "identity" ? [...identityKinds] : []);
  const lookup = lookupOf({ subject_id: "", action: ask.action, resource: { type: ask.type, external_id: "any" } });
  if (lookup.by === "delegation") return read(DELEGATIONS);
  if (lookup.by === "node") return read(NODES, [...lookup.kinds]);
  return read(RESOURCES, ask.type);
};
