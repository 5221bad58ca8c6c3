import type { CandidateAsk } from "#contract/facts.ts";
import { statement, type Sql } from "#store/database.ts";
import { lookupOf } from "./facts-plan.ts";
import { identityKinds } from "./kinds.ts";
import { pipTimeout, unexpired } from "./sql-parts.ts";
import { visible, type TenantScope } from "./tenant-scope.ts";

/** $1 scope; $2 only behind this id, or null; $3 most; $4 tenant that it belongs to, or null for any. */
const inTenant = (alias: string): string => `(${alias}.tenant_id is null or $4::text is null or ${alias}.tenant_id = $4)`;
const behind = (id: string): string => `($2::text is null or ${id} collate "C" > $2::text)`;

type Row = { readonly id: string };

/** Whoever belongs to the tenant, at home there or not. */
const SUBJECTS = statement<Row>(
  "membership.candidate_subjects",
  `select n.id from membership.node n
   where n.kind = any($5::text[]) and ${visible("n")} and ${behind("n.id")}
     and (${inTenant("n")} or exists (
       select 1 from membership.edge e
       where e.src = n.id and e.dst = $4 and e.kind in ('BELONGS_TO', 'USES_TENANT') and ${unexpired("e")}))
   order by n.id collate "C" limit $3`,
  pipTimeout,
);
const NODES = statement<Row>(
  "membership.candidate_nodes",
  `select n.id from membership.node n
   where (cardinality($5::text[]) = 0 or n.kind = any($5::text[])) and ${visible("n")} and ${inTenant("n")} and ${behind("n.id")}
   order by n.id collate "C" limit $3`,
  pipTimeout,
);
const RESOURCES = statement<Row>(
  "membership.candidate_resources",
  `select distinct n.external_id collate "C" as id from membership.node n
   where n.kind = 'Resource' and n.props ->> 'type' = $5 and n.external_id is not null
     and ${visible("n")} and ${inTenant("n")} and ${behind("n.external_id")}
   order by 1 limit $3`,
  pipTimeout,
);
const DELEGATIONS = statement<Row>(
  "membership.candidate_delegations",
  `select d.id from membership.delegation d where ${visible("d")} and ${inTenant("d")} and ${behind("d.id")}
   order by d.id collate "C" limit $3`,
  pipTimeout,
);

/** Ids that a search has to look at, in byte order: whatever an ask of this type and action could name. One statement. */
export const readCandidates = async (sql: Sql, scope: TenantScope, ask: CandidateAsk): Promise<readonly string[]> => {
  const common = [scope.tenant, ask.after ?? null, ask.limit, ask.tenant_id ?? null] as const;
  const ids = (rows: readonly Row[]): readonly string[] => rows.map(({ id }) => id);
  if (ask.of === "subject") {
    return ask.type === "identity" ? ids(await sql.run(SUBJECTS, [...common, [...identityKinds]])) : [];
  }
  const lookup = lookupOf({ subject_id: "", action: ask.action, resource: { type: ask.type, external_id: "any" } });
  if (lookup.by === "delegation") return ids(await sql.run(DELEGATIONS, [...common]));
  if (lookup.by === "node") return ids(await sql.run(NODES, [...common, [...lookup.kinds]]));
  return ids(await sql.run(RESOURCES, [...common, ask.type]));
};
