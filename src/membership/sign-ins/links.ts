import { randomUUID } from "node:crypto";
import type { LinkedPerson, PersonOf } from "#authn/model/claims.ts";
import { statement, type Database, type Sql } from "#store/database.ts";
import { createKnownReads } from "#membership/graph/shared-reads.ts";

/** $3 tenant or null: the only one that there is. */
const FIND = statement<LinkedPerson>(
  "membership.link_find",
  `select n.id, n.tenant_id as tenant from membership.identity_link l
   join membership.node n on n.id = l.person_id and n.tenant_id = l.tenant_id
   where l.issuer = $1 and l.subject = $2 and l.tenant_id = coalesce($3,
     (select min(t.id) from (select id from membership.node where kind = 'Tenant' limit 2) t having count(*) = 1))`,
);
const ADD = statement<{ id: string }>(
  "membership.link_add",
  `insert into membership.identity_link (id, issuer, subject, person_id, how, made_by, tenant_id)
   select $1::uuid, $2, $3, n.id, $5, $6, n.tenant_id from membership.node n where n.id = $4
   on conflict (issuer, subject, tenant_id) do nothing returning id`,
);

/** A subject as one provider names it: never given to somebody else there, and one person here in each tenant at most. */
export interface Subject {
  readonly issuer: string;
  readonly subject: string;
}

/**
 * In the tenant that is meant; where none is, in the only one of Sallyport. Where there are several nobody is: any of their administrators
 * may link any subject, and none decides who another's people are.
 */
export const findLinked = async (
  sql: Sql,
  { issuer, subject, tenant }: Subject & { readonly tenant?: string | undefined },
): Promise<LinkedPerson | undefined> => (await sql.run(FIND, [issuer, subject, tenant ?? null]))[0];

/** Makes the subject the person's; its id, or `undefined` where the subject is somebody's of that tenant already. */
export const addLink = async (
  sql: Sql,
  link: Subject & { readonly personId: string; readonly how: "first" | "match" | "create" | "administrator"; readonly by: string },
): Promise<string | undefined> => (await sql.run(ADD, [randomUUID(), link.issuer, link.subject, link.personId, link.how, link.by]))[0]?.id;

/** Who a subject is here, for every process; read anew for each request of a token, so that an unlinked one is nobody at once. */
export const createPersonOf = (database: Pick<Database, "run">, now: () => Date): PersonOf => {
  const read = createKnownReads((key) => {
    const [issuer = "", subject = "", tenant = ""] = key.split("\n");
    return findLinked(database as Sql, { issuer, subject, tenant: tenant === "" ? undefined : tenant });
  }, now);
  // None may hold a line break: an issuer is an address, a subject printable ASCII.
  return async (issuer, subject, tenant = "") =>
    /[\n\0]/.test(issuer + subject + tenant) ? undefined : read(`${issuer}\n${subject}\n${tenant}`);
};
