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
  /** Of its node. */
  readonly state: string;
  /** SCIM itself switched it off. */
  readonly suspended: boolean;
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

const COLUMNS =
  "r.id, r.document, r.rev, r.created_at, r.updated_at, r.suspended, (select n.state from membership.node n where n.id = r.id) as state";
const named = (attribute: string): string => `membership.fold_name(r.document ->> '${attribute}') = membership.fold_name($3)`;
/** By the one attribute that directories look somebody up by before they write. */
const lookups = {
  username: named("userName"),
  displayname: named("displayName"),
  externalid: "r.document ->> 'externalId' = $3",
  id: `r.id = $3`,
  members: `r.id in (select e.dst from membership.edge e join membership.scim_resource m on m.id in ('person:scim:' || $3, 'group:scim:' || $3)
     where e.kind = 'MEMBER_OF' and e.src in ('account:scim:' || $3, 'group:scim:' || $3) and m.tenant_id = $1 and ${unexpired("e")})`,
  groups: `r.id in (select 'person:scim:' || substr(e.src, 14) from membership.edge e join membership.scim_resource g on g.id = e.dst
     where e.kind = 'MEMBER_OF' and e.dst = 'group:scim:' || $3 and g.tenant_id = $1 and e.src like 'account:scim:%' and ${unexpired("e")})`,
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
  `insert into membership.scim_resource as r (id, tenant_id, type, document, suspended) values ($1, $2, $3, $4::jsonb, $5) returning ${COLUMNS}`,
);
const UPDATE = statement<ScimRow>(
  "membership.scim_update",
  `update membership.scim_resource r set document = $2::jsonb, suspended = $3, rev = r.rev + 1, updated_at = now() where r.id = $1 returning ${COLUMNS}`,
);
const DELETE = statement("membership.scim_delete", "delete from membership.scim_resource where id = $1");
const one = (rows: readonly ScimRow[]): ScimRow => {
  const [row] = rows;
  if (row === undefined) throw new Error("a write gives its row");
  return row;
};
export const insertResource = async (sql: Sql, tenant: string, type: ScimType, id: string, document: ScimDocument): Promise<ScimRow> =>
  one(await sql.run(INSERT, [id, tenant, type, JSON.stringify(document), document["active"] === false]));
export const updateResource = async (sql: Sql, id: string, document: ScimDocument, isSuspended: boolean): Promise<ScimRow> =>
  one(await sql.run(UPDATE, [id, JSON.stringify(document), isSuspended]));
export const deleteResource = async (sql: Sql, id: string): Promise<void> => void (await sql.run(DELETE, [id]));

type LinkRow = Omit<Link, "id"> & { readonly own: string; readonly other: string; readonly id: string | null };

/**
 * Edges of groups or accounts ($1), with what SCIM knows of the other end. That is looked up by its id: a join would read all resources for
 * one group where tables grew since they were last counted. Others that somebody put in by hand are not the directory's to see.
 */
const linksBy = (name: string, [own, other]: readonly [string, string], [of, at]: readonly [string, string]) => {
  const select = (which: string): string =>
    `select ${of} as of, e.${own} as own, e.${other} as other, r.id, r.type, coalesce(r.shown, r.login) as display from (
       select e.src, e.dst from membership.edge e
       where e.kind = 'MEMBER_OF' and e.${own} = any($1) and ${unexpired("e")} and ${which}) e
     left join lateral (select r.id, r.type, r.document ->> 'displayName' as shown, r.document ->> 'userName' as login
       from membership.scim_resource r where r.id = ${at} limit 1) r on true order by e.${own}, e.${other}`;
  const behind = `(e.${own}, e.${other}) > ($2::text collate "C", $3::text collate "C") order by e.${own}, e.${other} limit $4`;
  return {
    page: statement<LinkRow>(`membership.scim_${name}`, select(behind)),
    named: statement<LinkRow>(`membership.scim_${name}_named`, select(`e.${other} = any($2)`)),
  };
};
const links = {
  Group: linksBy(
    "members",
    ["dst", "src"],
    ["e.dst", "case when e.src like 'account:scim:%' then 'person:scim:' || substr(e.src, 14) else e.src end"],
  ),
  User: linksBy("groups", ["src", "dst"], ["'person:scim:' || substr(e.src, 14)", "e.dst"]),
};

export interface Links {
  readonly links: ReadonlyMap<string, readonly Link[]>;
  /** There were more than asked for: of this resource and those behind it, in the order of their ids, not all are here. */
  readonly cutAt?: string;
}

const AT_ONCE = 2_000;
const NAMED_AT_ONCE = 250;
const ownIds = (type: ScimType, ids: readonly string[]): readonly string[] =>
  type === "Group" ? ids : ids.map((id) => accountIdOf(scimIdOf(id)));

const collect = (found: Map<string, Link[]>, type: ScimType, rows: readonly LinkRow[]): void => {
  for (const { own: _own, other: _other, id, ...link } of rows) {
    if (id === null || (type === "User" && link.type !== "Group")) continue;
    const of = found.get(link.of);
    if (of === undefined) found.set(link.of, [{ ...link, id }]);
    else of.push({ ...link, id });
  }
};

/**
 * Members of groups, or groups of persons, by the id that they are of. Stops once there are more than `most`. Cost: a statement for each
 * 2,000.
 */
export const readLinks = async (sql: Sql, type: ScimType, ids: readonly string[], max = Infinity): Promise<Links> => {
  const found = new Map<string, Link[]>();
  let [after, count]: [readonly [string, string], number] = [["", ""], 0];
  while (ids.length > 0) {
    const limit = Math.min(AT_ONCE, max - count + 1);
    const page = await sql.run(links[type].page, [ownIds(type, ids), ...after, limit]);
    collect(found, type, page);
    const last = page.at(-1);
    count += page.length;
    if (last !== undefined && count > max) return { links: found, cutAt: last.of };
    if (last === undefined || page.length < limit) break;
    after = [last.own, last.other];
  }
  return { links: found };
};

/** The same, of those alone whose SCIM ids are named. Cost: by those, however many others there are. */
export const readNamedLinks = async (sql: Sql, type: ScimType, ids: readonly string[], named: readonly string[]): Promise<Links> => {
  const found = new Map<string, Link[]>();
  for (let at = 0; at < named.length && ids.length > 0; at += NAMED_AT_ONCE) {
    const some = named.slice(at, at + NAMED_AT_ONCE);
    const others = some.flatMap((id) => (type === "Group" ? [accountIdOf(id), nodeIdOf("Group", id)] : [nodeIdOf("Group", id)]));
    collect(found, type, await sql.run(links[type].named, [ownIds(type, ids), others]));
  }
  return { links: found };
};

const KNOWN = statement<{ id: string; type: ScimType }>(
  "membership.scim_known",
  "select id, type from membership.scim_resource where tenant_id = $1 and id = any($2)",
);
/** Which of these SCIM ids there are in the tenant, and what they are. */
export const findMembers = async (sql: Sql, tenant: string, ids: readonly string[]): Promise<ReadonlyMap<string, ScimType>> => {
  const known = new Map<string, ScimType>();
  for (let at = 0; at < ids.length; at += AT_ONCE) {
    const wanted = ids.slice(at, at + AT_ONCE).flatMap((id) => [nodeIdOf("User", id), nodeIdOf("Group", id)]);
    for (const { id, type } of await sql.run(KNOWN, [tenant, wanted])) known.set(scimIdOf(id), type);
  }
  return known;
};
