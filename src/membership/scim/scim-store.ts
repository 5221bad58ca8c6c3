import { unexpired } from "#membership/graph/sql-parts.ts";
import { statement, type Sql } from "#store/database.ts";
import type { ScimDocument, ScimType } from "./scim-schemas.ts";

/** Resources as they are kept. The id is the node's; SCIM knows the part behind `person:scim:` or `group:scim:`. */
export interface ScimRow {
  readonly id: string;
  readonly document: ScimDocument;
  readonly rev: bigint;
  readonly created_at: string;
  readonly updated_at: string;
}

export interface Link {
  /** The resource that it is about, and the node at the other end. */
  readonly of: string;
  readonly id: string;
  readonly type: ScimType;
  readonly display: string | null;
}

const prefixes = { User: "person:scim:", Group: "group:scim:" } as const;
export const nodeIdOf = (type: ScimType, id: string): string => `${prefixes[type]}${id}`;
export const accountIdOf = (id: string): string => `account:scim:${id}`;
export const scimIdOf = (nodeId: string): string => nodeId.slice(nodeId.indexOf(":scim:") + 6);

const COLUMNS = "r.id, r.document, r.rev, r.created_at, r.updated_at";
/** By the one attribute that directories look somebody up by before they write; text of names whatever its case. */
const lookups = {
  username: `lower((r.document ->> 'userName') collate "C") = lower($3)`,
  displayname: `lower((r.document ->> 'displayName') collate "C") = lower($3)`,
  externalid: "r.document ->> 'externalId' = $3",
  id: `r.id = $3`,
  all: "$3 = ''",
} as const;
export type Lookup = keyof typeof lookups;

const pageBy = Object.fromEntries(
  Object.entries(lookups).map(([name, condition]) => [
    name,
    {
      page: statement<ScimRow>(
        `membership.scim_page_${name}`,
        `select ${COLUMNS} from membership.scim_resource r where r.tenant_id = $1 and r.type = $2 and ${condition} and r.id > $4 order by r.id limit $5 offset $6`,
      ),
      count: statement<{ n: bigint }>(
        `membership.scim_count_${name}`,
        `select count(*) as n from membership.scim_resource r where r.tenant_id = $1 and r.type = $2 and ${condition}`,
      ),
    },
  ]),
) as unknown as Record<Lookup, { page: ReturnType<typeof statement<ScimRow>>; count: ReturnType<typeof statement<{ n: bigint }>> }>;

export interface Sought {
  readonly tenant: string;
  readonly type: ScimType;
  readonly by: Lookup;
  readonly value: string;
}

export const readPage = (
  sql: Sql,
  { tenant, type, by, value }: Sought,
  page: { readonly after?: string; readonly limit: number; readonly offset?: number },
): Promise<readonly ScimRow[]> => sql.run(pageBy[by].page, [tenant, type, value, page.after ?? "", page.limit, page.offset ?? 0]);

export const countResources = async (sql: Sql, { tenant, type, by, value }: Sought): Promise<number> =>
  Number((await sql.run(pageBy[by].count, [tenant, type, value]))[0]?.n ?? 0n);

const ONE = `select ${COLUMNS} from membership.scim_resource r where r.tenant_id = $1 and r.type = $2 and r.id = $3`;
const READ = statement<ScimRow>("membership.scim_read", ONE);
const LOCK = statement<ScimRow>("membership.scim_lock", `${ONE} for update`);
export const readResource = async (sql: Sql, tenant: string, type: ScimType, id: string): Promise<ScimRow | undefined> =>
  (await sql.run(READ, [tenant, type, id]))[0];
/** The same, locked. */
export const lockResource = async (sql: Sql, tenant: string, type: ScimType, id: string): Promise<ScimRow | undefined> =>
  (await sql.run(LOCK, [tenant, type, id]))[0];

const INSERT = statement<ScimRow>(
  "membership.scim_insert",
  `insert into membership.scim_resource as r (id, tenant_id, type, document) values ($1, $2, $3, $4::jsonb) returning ${COLUMNS}`,
);
const UPDATE = statement<ScimRow>(
  "membership.scim_update",
  `update membership.scim_resource r set document = $2::jsonb, rev = r.rev + 1, updated_at = now() where r.id = $1 returning ${COLUMNS}`,
);
const DELETE = statement("membership.scim_delete", "delete from membership.scim_resource where id = $1");
const one = (rows: readonly ScimRow[]): ScimRow => {
  const [row] = rows;
  if (row === undefined) throw new Error("a write gives its row");
  return row;
};
export const insertResource = async (sql: Sql, tenant: string, type: ScimType, id: string, document: ScimDocument): Promise<ScimRow> =>
  one(await sql.run(INSERT, [id, tenant, type, JSON.stringify(document)]));
export const updateResource = async (sql: Sql, id: string, document: ScimDocument): Promise<ScimRow> =>
  one(await sql.run(UPDATE, [id, JSON.stringify(document)]));
export const deleteResource = async (sql: Sql, id: string): Promise<void> => void (await sql.run(DELETE, [id]));

/** What SCIM knows of one end of an edge, looked up by its id: a join would read all resources for one group where tables grew since they were last counted. */
const resourceAt = (id: string): string =>
  `cross join lateral (select r.id, r.type, r.document ->> 'displayName' as shown, r.document ->> 'userName' as login
     from membership.scim_resource r where r.id = ${id} limit 1) r`;
/** $1 groups. Members by SCIM itself: others that somebody put in by hand are not the directory's to see. */
const MEMBERS = statement<Link>(
  "membership.scim_members",
  `select e.dst as of, r.id, r.type, coalesce(r.shown, r.login) as display from membership.edge e
     ${resourceAt("case when e.src like 'account:scim:%' then 'person:scim:' || substr(e.src, 14) else e.src end")}
   where e.kind = 'MEMBER_OF' and e.dst = any($1) and ${unexpired("e")} order by e.dst, r.id`,
);
/** $1 accounts of persons. */
const GROUPS = statement<Link>(
  "membership.scim_groups",
  `select 'person:scim:' || substr(e.src, 14) as of, r.id, r.type, r.shown as display from membership.edge e ${resourceAt("e.dst")}
   where e.kind = 'MEMBER_OF' and e.src = any($1) and r.type = 'Group' and ${unexpired("e")} order by e.src, r.id`,
);
/** Members of groups, or groups of persons, by the id that they are of. Cost: one statement. */
export const readLinks = async (sql: Sql, type: ScimType, ids: readonly string[]): Promise<ReadonlyMap<string, readonly Link[]>> => {
  if (ids.length === 0) return new Map();
  const rows = type === "Group" ? await sql.run(MEMBERS, [[...ids]]) : await sql.run(GROUPS, [ids.map((id) => accountIdOf(scimIdOf(id)))]);
  return Map.groupBy(rows, ({ of }) => of);
};

const KNOWN = statement<{ id: string; type: ScimType }>(
  "membership.scim_known",
  "select id, type from membership.scim_resource where tenant_id = $1 and id = any($2)",
);
/** Which of these SCIM ids there are in the tenant, and what they are. */
export const findMembers = async (sql: Sql, tenant: string, ids: readonly string[]): Promise<ReadonlyMap<string, ScimType>> => {
  const wanted = ids.flatMap((id) => [nodeIdOf("User", id), nodeIdOf("Group", id)]);
  return new Map((await sql.run(KNOWN, [tenant, wanted])).map(({ id, type }) => [scimIdOf(id), type]));
};
