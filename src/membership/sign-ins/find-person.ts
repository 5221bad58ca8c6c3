import { statement, type Sql } from "#store/database.ts";
import { unexpired } from "#membership/graph/sql-parts.ts";

/** A directory removed the person, who stays on record: nobody signs in as them, and they are in nobody's way. */
const REMOVED =
  "n.state <> 'active' and n.system = 'scim' and n.external_id is null and not exists (select 1 from membership.scim_resource r where r.id = n.id)";
const BY_EXTERNAL_ID = statement<{ id: string }>(
  "membership.person_by_external_id",
  "select id from membership.node where kind = 'Person' and tenant_id = $1 and system = $2 and external_id = $3",
);
/** At most two: more than one is nobody. */
const BY_EMAIL = statement<{ id: string }>(
  "membership.person_by_email",
  `select n.id from membership.node n where n.kind = 'Person' and n.tenant_id = $1 and n.props ? 'email'
     and lower((n.props ->> 'email') collate "C") = lower($2::text collate "C") and not (${REMOVED}) limit 2`,
);
/**
 * Whether somebody else is the person already, the person may do more than everybody, or may not come in: not active, of no active account
 * though there are some, or of a tenant that has ended.
 */
const GUARDED = statement<{ guarded: boolean }>(
  "membership.person_guarded",
  `with recursive above(id, depth) as (
     select $1::text collate "C", 0
     union
     select e.dst, a.depth + 1 from above a join membership.edge e on e.src = a.id and e.kind in ('BELONGS_TO', 'MEMBER_OF') and ${unexpired("e")}
     where a.depth < 10)
   select exists (select 1 from membership.identity_link where person_id = $1)
     or exists (select 1 from above a join membership.node n on n.id = a.id where n.kind = 'BusinessRole' and n.id <> 'role:member')
     or exists (select 1 from membership.node p left join membership.node t on t.id = p.tenant_id
       where p.id = $1 and (p.state <> 'active' or t.state <> 'active'))
     or coalesce((select not bool_or(a.state = 'active' and ${unexpired("e")}) from membership.edge e join membership.node a on a.id = e.dst
       where e.src = $1 and e.kind = 'BELONGS_TO'), false) as guarded`,
);

export interface Sought {
  readonly tenant: string;
  readonly system: string;
  readonly subject: string;
  /** Verified by the provider; none otherwise. */
  readonly email?: string | undefined;
}

/**
 * Who of the tenant it may be that signs in: by the external id, else by the only verified e-mail address. `guarded`: there is somebody,
 * whom only an administrator links: several, somebody linked already, a holder of a role other than member, or somebody who is switched off.
 */
export const findPerson = async (sql: Sql, sought: Sought): Promise<{ readonly id: string } | "guarded" | undefined> => {
  const { tenant, system, subject, email } = sought;
  const byId = await sql.run(BY_EXTERNAL_ID, [tenant, system, subject]);
  const found = byId.length > 0 || email === undefined ? byId : await sql.run(BY_EMAIL, [tenant, email]);
  const [person, other] = found;
  if (person === undefined) return undefined;
  if (other !== undefined) return "guarded";
  const [row] = await sql.run(GUARDED, [person.id]);
  return row?.guarded === false ? person : "guarded";
};
