import { MAX_MAILED } from "#contract/notifications.ts";
import { statement, type Sql } from "#store/database.ts";
import { pipTimeout, unexpired } from "./sql-parts.ts";
import { visible, type TenantScope } from "./tenant-scope.ts";

export interface Contact {
  readonly id: string;
  readonly name: string;
  readonly email: string | null;
}

/** $1 scope; $2 tenant; $3 persons, groups and roles. The ways from a person to a group are those of facts. */
const CONTACTS = statement<Contact>(
  "membership.contacts",
  `with recursive down(id, kind, depth) as (
     select s.id, s.kind, 0 from membership.node s
     where s.id = any($3) and s.kind in ('Person', 'Group', 'BusinessRole') and s.state = 'active' and ${visible("s")}
       and (s.tenant_id = $2 or s.tenant_id is null)
     union
     select n.id, n.kind, d.depth + 1 from down d
       join membership.edge e on e.dst = d.id and e.kind in ('BELONGS_TO', 'MEMBER_OF') and ${unexpired("e")}
       join membership.node n on n.id = e.src and n.state = 'active' and n.tenant_id = $2 and ${visible("n")}
     where d.kind <> 'Person' and d.depth < 10)
   select p.id, coalesce(p.display_name, p.name) as name, p.props ->> 'email' as email from membership.node p
   where p.kind = 'Person' and p.tenant_id = $2 and p.id in (select d.id from down d) order by p.id limit ${MAX_MAILED + 1}`,
  pipTimeout,
);

/** Active persons of a tenant, named or in what is named, by id; at most one more than are mailed to. One statement, which walks down. */
export const readContacts = (
  sql: Sql,
  { tenant: scope }: TenantScope,
  asked: { readonly tenant: string; readonly ids: readonly string[] },
): Promise<readonly Contact[]> => sql.run(CONTACTS, [scope, asked.tenant, [...asked.ids]]);
