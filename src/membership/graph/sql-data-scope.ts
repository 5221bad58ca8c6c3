import { mergeMasks, writeRowFilter, type ColumnMask } from "#contract/data-scope.ts";
import { Problem } from "#contract/problem.ts";
import { statement, type Sql } from "#store/database.ts";
import type { Answered, Asked, DataScope } from "./graph-reader.ts";
import type { DataScopeRule } from "#contract/data-scope-rules.ts";
import { PLATFORM } from "#membership/graph/built-in-roles.ts";
import { OPERATOR_TENANT } from "#membership/graph/operator-tenant.ts";
import { HEAD, pipTimeout, unexpired } from "./sql-parts.ts";
import { visible, type TenantScope } from "./tenant-scope.ts";

export interface DataScopeOptions {
  /** What a resource type without a rule gives: the subject's tenants, or nothing. */
  readonly unknownType: "tenants" | "deny";
  /** Told when a filter could not be written safely and became `1=0`. */
  readonly refused: (why: "column" | "value") => void;
}

const MAX_TENANTS = 1000;

/**
 * The rows and columns of one resource type for a subject, from what the graph says of it. `groups` are all it is in,
 * nested ones included.
 */
export const dataScopeOf = (
  facts: {
    readonly subjectId: string;
    readonly tenantIds: readonly string[];
    readonly groups: readonly string[];
    readonly rule: DataScopeRule | null;
  },
  options: DataScopeOptions,
): DataScope => {
  const { rule } = facts;
  if (facts.tenantIds.length > MAX_TENANTS)
    throw new Problem("too_many", { detail: `The subject is in more than ${MAX_TENANTS} tenants.` });
  const isIn = (group: string): boolean => facts.groups.includes(group);
  const tenant_ids = [...facts.tenantIds];
  if (tenant_ids.length === 0 || (rule === null && options.unknownType === "deny"))
    return { tenant_ids, row_filter_sql: "1=0", column_mask: {} };
  const own =
    rule?.own_column !== undefined && rule.own_groups.some(isIn) ? { column: rule.own_column, value: facts.subjectId } : undefined;
  const row_filter_sql = writeRowFilter(
    { kind: "in", column: rule?.tenant_column ?? "tenant_id", values: tenant_ids, own },
    options.refused,
  );
  const column_mask = (rule?.masks ?? [])
    .filter((mask) => !mask.unless_member_of.some(isIn))
    .reduce<ColumnMask>((held, mask) => mergeMasks(held, { [mask.column]: mask.kind }), {});
  return { tenant_ids, row_filter_sql, column_mask };
};

/** A rule as the statements give it. */
export const RULE_JSON = `json_strip_nulls(json_build_object('tenant_column', r.tenant_column, 'own_column', r.own_column, 'own_groups', r.own_groups, 'masks', r.masks))`;

/**
 * Exactly subject -BELONGS_TO-> Account -MEMBER_OF (once or twice)-> Tenant; an account starts at itself. Every node on
 * the way must be active. Groups, which masks look at, nest to any depth that can be written.
 */
const SCOPE = statement<{ version: bigint; tenants: string[]; groups: string[]; rule: DataScopeRule | null; valid_until: string | null }>(
  "membership.pip_data_scope",
  `with recursive who as (
     select n.id, n.kind, n.tenant_id from membership.node n where n.id = $2 and n.state = 'active' and ${visible("n")}),
   acc as (
     select id from who where kind = 'Account' union
     select n.id from who join membership.edge e on e.src = who.id and e.kind = 'BELONGS_TO' and ${unexpired("e")}
       join membership.node n on n.id = e.dst and n.state = 'active' and ${visible("n")}),
   h1 as (
     select n.id, n.kind from acc join membership.edge e on e.src = acc.id and e.kind = 'MEMBER_OF' and ${unexpired("e")}
       join membership.node n on n.id = e.dst and n.state = 'active' and ${visible("n")}),
   h2 as (
     select n.id, n.kind from h1 join membership.edge e on e.src = h1.id and e.kind = 'MEMBER_OF' and ${unexpired("e")}
       join membership.node n on n.id = e.dst and n.state = 'active' and ${visible("n")}),
   g(id, depth) as (
     select n.id, 1 from (select id from acc union select id from who) s
       join membership.edge e on e.src = s.id and e.kind = 'MEMBER_OF' and ${unexpired("e")}
       join membership.node n on n.id = e.dst and n.kind in ('Group', 'BusinessRole') and n.state = 'active' and ${visible("n")} union
     select n.id, g.depth + 1 from g join membership.edge e on e.src = g.id and e.kind = 'MEMBER_OF' and ${unexpired("e")}
       join membership.node n on n.id = e.dst and n.kind in ('Group', 'BusinessRole') and n.state = 'active' and ${visible("n")} where g.depth < 8)
   select ${HEAD} as version,
     coalesce((select array_agg(t.id order by t.id) from (
       select id from h1 where kind = 'Tenant' union select id from h2 where kind = 'Tenant' order by id limit ${MAX_TENANTS + 1}) t), '{}') as tenants,
     coalesce((select array_agg(distinct g.id) from g
       where g.id <> '${PLATFORM}' or (select who.tenant_id from who) = ${OPERATOR_TENANT}), '{}') as groups,
     (select ${RULE_JSON} from membership.data_scope_rule r join who on who.tenant_id = r.tenant_id where r.resource_type = $3) as rule,
     (select min(e.expires_at) from membership.edge e where e.expires_at > now() and e.kind in ('BELONGS_TO', 'MEMBER_OF')
       and e.src in (select id from who union select id from acc union select id from h1 union select id from g)) as valid_until`,
  pipTimeout,
);

export const readDataScope = async (
  sql: Sql,
  scope: TenantScope,
  ask: Asked<"dataScope">,
  options: DataScopeOptions,
): Promise<Answered<DataScope>> => {
  const [row] = await sql.run(SCOPE, [scope.tenant, ask.subjectId, ask.resourceType]);
  const facts = { subjectId: ask.subjectId, tenantIds: row?.tenants ?? [], groups: row?.groups ?? [], rule: row?.rule ?? null };
  return { version: row?.version ?? 0n, value: dataScopeOf(facts, options), validUntil: row?.valid_until ?? null };
};
