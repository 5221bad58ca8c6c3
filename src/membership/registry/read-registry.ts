import {
  MAX_AFFECTED,
  type AffectedCapability,
  type McpPrompt,
  type McpResource,
  type McpService,
  type McpTool,
} from "#contract/registry.ts";
import { statement, type Sql } from "#store/database.ts";
import type { GraphNode } from "#membership/graph/graph-reader.ts";
import { present, type KeptNode } from "#membership/graph/put-node.ts";
import type { EdgeKind } from "#membership/model/kinds.ts";
import { foldText } from "#contract/fold-text.ts";
import { containing, live, unexpired } from "#membership/graph/sql-parts.ts";
import { visible, type TenantScope } from "#membership/graph/tenant-scope.ts";

interface ServiceRow extends Omit<GraphNode, "kind" | "system" | "external_id" | "digest" | "out" | "in"> {
  readonly tools: number;
  readonly resources: number;
  readonly prompts: number;
  readonly total: number;
}

const count = (
  kind: string,
): string => `(select count(*)::int from membership.edge e join membership.node o on o.id = e.dst and ${visible("o")}
   where e.src = n.id and e.kind = '${kind}' and ${unexpired("e")})`;
const SERVICE = `n.id, n.name, n.display_name, n.state, n.tenant_id, n.props, n.rev, n.created_at, n.updated_at,
   ${count("PROVIDES")} as tools, ${count("PROVIDES_RESOURCE")} as resources, ${count("OFFERS_PROMPT")} as prompts`;
/** A page of nodes `n`, with how many there are in all, also behind the last of them: then in a row without a node. */
const pageOf = (columns: string, from: string, limit: string, offset: string): string =>
  `with found as materialized (select n.* from ${from})
   select (select count(*)::int from found) as total, page.* from (select 1) one
   left join lateral (select ${columns} from found n order by n.id limit ${limit} offset ${offset}) page on true order by page.id`;
const readPage = <Row extends { readonly id: string | null; readonly total: number }, View>(
  rows: readonly Row[],
  view: (row: Row) => View,
): { readonly items: readonly View[]; readonly total: number } => ({
  items: rows.filter(({ id }) => id !== null).map(view),
  total: rows[0]?.total ?? 0,
});
const LIST = statement<ServiceRow>(
  "membership.registry_services",
  pageOf(
    SERVICE,
    `membership.node n where n.kind = 'MCPService' and ${visible("n")} and ($2::text is null or n.props ->> 'service_type' = $2)
     and ($3::text is null or n.props ->> 'provider' = $3) and ($4::text is null or coalesce(n.props ->> 'is_backend', 'false') = $4)
     and ($5::text is null or n.fold like $5) and ($6::text is null or n.state = $6)`,
    "$7",
    "$8",
  ),
);
const ONE = statement<ServiceRow>(
  "membership.registry_service",
  `select ${SERVICE}, 1 as total from membership.node n where n.kind = 'MCPService' and ${visible("n")}
     and ($2::text is null or n.id = $2) and ($3::text is null or n.name = $3) order by n.tenant_id nulls last, n.id limit 1`,
);

const serviceView = (row: ServiceRow): McpService => {
  const { managed_by, ...props } = row.props as { managed_by: "crud" | "registry" } & McpService;
  return {
    ...props,
    id: row.id,
    name: row.name,
    display_name: row.display_name ?? undefined,
    managed_by,
    counts: { tools: row.tools, resources: row.resources, prompts: row.prompts },
    tenant_id: row.tenant_id,
    state: row.state as McpService["state"],
    created_at: row.created_at,
    updated_at: row.updated_at,
  };
};

export interface ServiceFilter {
  readonly service_type?: string | undefined;
  readonly provider?: string | undefined;
  readonly is_backend?: string | undefined;
  readonly search?: string | undefined;
  readonly state?: string | undefined;
}
export interface Page {
  readonly limit: number;
  readonly skip: number;
}

export const listServices = async (sql: Sql, scope: TenantScope, filter: ServiceFilter, page: Page) => {
  const rows = await sql.run(LIST, [
    scope.tenant,
    filter.service_type ?? null,
    filter.provider ?? null,
    filter.is_backend ?? null,
    filter.search === undefined ? null : containing(foldText(filter.search)),
    filter.state ?? null,
    page.limit,
    page.skip,
  ]);
  return readPage(rows, serviceView);
};

/** By id or by name; of a name the tenant's own comes before a shared one. */
export const findService = async (sql: Sql, scope: TenantScope, by: { readonly id?: string; readonly name?: string }) => {
  const [row] = await sql.run(ONE, [scope.tenant, by.id ?? null, by.name ?? null]);
  return row === undefined ? undefined : { value: serviceView(row), rev: row.rev };
};

export interface ToolRow extends Pick<KeptNode, "id" | "name" | "state" | "tenant_id" | "digest" | "props" | "rev"> {
  readonly total: number;
}
const TOOL = "n.id, n.name, n.state, n.tenant_id, n.digest, n.props, n.rev";
const TOOLS_NAMED = statement<ToolRow>(
  "membership.registry_tools_named",
  `select ${TOOL}, 1 as total from membership.node n where n.kind = 'Tool' and ${visible("n")}
     and ($2::text[] is null or n.id = any($2::text[])) and ($3::text is null or n.name = $3 or replace(n.id, '.', '_') = $3)
   order by n.id limit 500`,
);

export const toolView = (row: ToolRow): McpTool => {
  const { service_id, version, title, description, input_schema, output_schema, annotations, risk } = row.props;
  const members = { service_id, version, title, description, inputSchema: input_schema, outputSchema: output_schema, annotations, risk };
  return {
    id: row.id,
    name: row.name,
    ...(present(members) as Partial<McpTool>),
    definition_digest: row.digest ?? undefined,
    state: row.state,
    tenant_id: row.tenant_id,
  };
};

const PROVIDED = statement<ToolRow>(
  "membership.registry_provided_page",
  pageOf(
    TOOL,
    `membership.edge e join membership.node n on n.id = e.dst and ${visible("n")}
     where e.src = $2 and e.kind = $3 and ${unexpired("e")}`,
    "$4",
    "$5",
  ),
);
/** A resource or a prompt: its props were checked by its kind when they were written. */
export const providedView = <View extends McpResource | McpPrompt>(
  { id, name, state, digest, props }: Pick<ToolRow, "id" | "name" | "state" | "digest" | "props">,
  serviceId: string,
): View => ({ ...props, id, name, service_id: serviceId, state, definition_digest: digest ?? "" }) as View;
/** Tools (PROVIDES), resources (PROVIDES_RESOURCE) or prompts (OFFERS_PROMPT) of a service. */
export const listProvided = async <View>(
  sql: Sql,
  scope: TenantScope,
  of: { readonly serviceId: string; readonly kind: EdgeKind; readonly view: (row: ToolRow, serviceId: string) => View },
  page: Page,
) => readPage(await sql.run(PROVIDED, [scope.tenant, of.serviceId, of.kind, page.limit, page.skip]), (row) => of.view(row, of.serviceId));

/** By ids, or all of a name, whether its dots are dots or underscores. */
export const findTools = async (sql: Sql, scope: TenantScope, by: { readonly ids?: readonly string[]; readonly name?: string }) =>
  (await sql.run(TOOLS_NAMED, [scope.tenant, by.ids ?? null, by.name ?? null])).map((row) => ({ value: toolView(row), rev: row.rev }));

/** $2 tools, $3 the digest that each would have, null where it goes. What a delegation above gives no more, none below it gives. */
const AFFECTED = statement<AffectedCapability>(
  "membership.registry_affected",
  `select distinct d.id as delegation_id, r.delegator_id as user_id, d.agent_id, t.id as tool_id
   from unnest($2::text[], $3::text[]) w(id, digest)
   join membership.node t on t.id = w.id and t.kind = 'Tool' and t.state = 'approved' and ${visible("t")}
   join membership.edge c on c.dst = t.id and c.kind = 'HAS_CAPABILITY' and ${unexpired("c")} and (c.digest is null or c.digest = t.digest)
   join membership.delegation p on p.agent_id = c.src and ${visible("p")}
   join membership.delegation d on d.path @> array[p.id] and ${visible("d")} and ${live("d")} and (d.capabilities is null or t.id = any(d.capabilities))
   join membership.delegation r on r.id = d.path[1]
   where w.digest is null or c.digest <> w.digest
   order by t.id, d.id limit ${MAX_AFFECTED + 1}`,
);

/** Live delegations, of those that the scope sees, that give a tool now and would not were it so. */
export const readAffected = async (
  sql: Sql,
  scope: TenantScope,
  tools: readonly { readonly tool_id: string; readonly definition_digest: string | null }[],
): Promise<{ readonly affected: AffectedCapability[]; readonly truncated: boolean }> => {
  const rows = await sql.run(AFFECTED, [scope.tenant, tools.map(({ tool_id: id }) => id), tools.map((tool) => tool.definition_digest)]);
  return { affected: rows.slice(0, MAX_AFFECTED), truncated: rows.length > MAX_AFFECTED };
};
