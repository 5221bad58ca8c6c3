import { statement, type Sql } from "#store/database.ts";
import { unexpired } from "#membership/graph/sql-parts.ts";
import { ADMINISTRATOR, PLATFORM } from "./built-in-roles.ts";
import { OPERATOR_TENANT } from "./operator-tenant.ts";

/** Who can sign in, as the settings have it. */
export interface SignInWays {
  /** `off`: who is not linked is the person whose id the subject is, behind the prefix. Else links alone count: no rule finds who holds a role. */
  readonly provision: "off" | "match" | "create";
  readonly subjectPrefix: string;
  /** The provider whose links count; any unless given. */
  readonly issuer?: string | undefined;
  /** Ids of those whom the embedded provider knows: they alone sign in there, and no link counts. */
  readonly persons?: readonly string[] | undefined;
}

/** Every active person. */
export const anybody: SignInWays = { provision: "off", subjectPrefix: "" };

const ofProvider = "l.tenant_id = p.tenant_id and ($3::text is null or l.issuer = $3)";
const account = `from membership.edge b join membership.node a on a.id = b.dst and a.state = 'active'
       join membership.edge m on m.src = a.id and m.kind = 'MEMBER_OF' and ${unexpired("m")}`;
/**
 * $1 roles; $2 tenant or null for all; $3 issuer, $4 prefix, $5 persons, or null. The ways to a role and to the tenant are those of facts:
 * active nodes, at most ten steps, and an account in the tenant by one step or two.
 */
const HOLDERS = statement<{ tenant: string; role: string; endless: boolean }>(
  "membership.remaining_holders",
  `with recursive down(role, id, kind, tenant_id, endless, depth) as (
     select r.id, r.id, r.kind, r.tenant_id, true, 0 from membership.node r
     where r.id = any($1) and r.kind = 'BusinessRole' and r.tenant_id is null and r.state = 'active'
     union
     select d.role, n.id, n.kind, n.tenant_id, d.endless and e.expires_at is null, d.depth + 1
     from down d join membership.edge e on e.dst = d.id and e.kind in ('BELONGS_TO', 'MEMBER_OF') and ${unexpired("e")}
       join membership.node n on n.id = e.src and n.state = 'active' and ($2::text is null or n.tenant_id = $2) where d.depth < 10),
   p as (
     select d.role, d.id, d.tenant_id, bool_or(d.endless) as endless from down d
     where d.kind = 'Person' and (d.role <> '${PLATFORM}' or d.tenant_id = ${OPERATOR_TENANT}) group by 1, 2, 3)
   select p.tenant_id as tenant, p.role, bool_or(p.endless and w.endless) as endless
   from p join membership.node t on t.id = p.tenant_id and t.kind = 'Tenant' and t.state = 'active'
     cross join lateral (
       select b.expires_at is null and m.expires_at is null as endless ${account}
       where b.src = p.id and b.kind = 'BELONGS_TO' and ${unexpired("b")} and m.dst = t.id
       union all
       select b.expires_at is null and m.expires_at is null and h.expires_at is null ${account}
         join membership.node x on x.id = m.dst and x.state = 'active'
         join membership.edge h on h.src = x.id and h.kind = 'MEMBER_OF' and h.dst = t.id and ${unexpired("h")}
       where b.src = p.id and b.kind = 'BELONGS_TO' and ${unexpired("b")}) w
   where case when $5::text[] is not null then p.id = any($5)
     else exists (select 1 from membership.identity_link l where l.person_id = p.id and ${ofProvider})
       or ($4::text is not null and starts_with(p.id, $4) and p.id <> $4 and not exists (
         select 1 from membership.identity_link l
         where l.issuer = $3 and l.subject = substr(p.id, length($4) + 1) and l.tenant_id = p.tenant_id and l.person_id <> p.id)) end
   group by 1, 2 order by 1, 2`,
);

export interface Holding {
  readonly tenant: string;
  readonly role: string;
  /** By ways without an end: somebody holds it at every moment to come. */
  readonly endless: boolean;
}

/**
 * Which of the roles that must not be lost somebody who can sign in holds now, in the tenant or in each. Cost: one statement, which walks
 * down from the two roles.
 */
export const readHolders = (sql: Pick<Sql, "run">, ways: SignInWays, tenant: string | null): Promise<readonly Holding[]> =>
  sql.run(HOLDERS, [
    [ADMINISTRATOR, PLATFORM],
    tenant,
    ways.issuer ?? null,
    ways.provision === "off" ? ways.subjectPrefix : null,
    ways.persons === undefined ? null : [...ways.persons],
  ]);

/**
 * $1 identities that were switched off, or of whom a sign-in was taken away; $2 where something on a way into the tenant was. Those of them
 * by which a holder of `role:platform` acts no more: the holder itself or its account, or what left it without a way in for good.
 */
const SHUT_OUT = statement<{ start: string }>(
  "membership.platform_shut_out",
  `with recursive down(id, kind, depth) as (
     select r.id, r.kind, 0 from membership.node r where r.id = '${PLATFORM}'
     union
     select n.id, n.kind, d.depth + 1 from down d
       join membership.edge e on e.dst = d.id and e.kind in ('BELONGS_TO', 'MEMBER_OF') and ${unexpired("e")}
       join membership.node n on n.id = e.src and n.tenant_id = ${OPERATOR_TENANT}
         and (n.state = 'active' or n.kind not in ('Group', 'BusinessRole'))
     where d.depth < 10)
   select d.id as start from down d where d.id = any($1)
   union
   select w.id from down d cross join lateral (
       select d.id
       union all select b.dst from membership.edge b where b.src = d.id and b.kind = 'BELONGS_TO'
       union all select m.dst from membership.edge b join membership.edge m on m.src = b.dst and m.kind = 'MEMBER_OF'
         where b.src = d.id and b.kind = 'BELONGS_TO') w
   where d.kind = 'Person' and w.id = any($2) and not exists (
     select 1 ${account}
     where b.src = d.id and b.kind = 'BELONGS_TO' and b.expires_at is null and m.expires_at is null and (m.dst = ${OPERATOR_TENANT}
       or exists (select 1 from membership.edge h join membership.node x on x.id = h.src and x.state = 'active'
         where h.src = m.dst and h.kind = 'MEMBER_OF' and h.dst = ${OPERATOR_TENANT} and h.expires_at is null)))
   order by 1`,
);

/** Of the nodes those by which a holder of `role:platform` was shut out. Cost: one statement, which walks down from the role. */
export const readShutOut = async (sql: Sql, switchedOff: readonly string[], narrowed: readonly string[]): Promise<readonly string[]> =>
  (await sql.run(SHUT_OUT, [switchedOff, narrowed])).map(({ start }) => start);

const IS_OPERATORS = statement<{ one: number }>("membership.is_operators", `select 1 as one where $1 = ${OPERATOR_TENANT}`);

/** The roles of which the tenant must have a holder at every moment, and has none without an end; `now`: it has one that has. */
export const readLacking = async (
  sql: Sql,
  ways: SignInWays,
  tenant: string,
): Promise<readonly { readonly role: string; readonly now: boolean }[]> => {
  const holdings = await readHolders(sql, ways, tenant);
  const roles = (await sql.run(IS_OPERATORS, [tenant])).length > 0 ? [ADMINISTRATOR, PLATFORM] : [ADMINISTRATOR];
  return roles.flatMap((role) => {
    const held = holdings.find((one) => one.role === role);
    return held?.endless === true ? [] : [{ role, now: held !== undefined }];
  });
};
