import { randomUUID } from "node:crypto";
import type { LinkedPerson, PersonOf } from "#authn/claims.ts";
import { Problem } from "#contract/problem.ts";
import { createRecent } from "#http/recent.ts";
import { statement, type Database, type Sql } from "#store/database.ts";
import { createSharedReads } from "#membership/graph/shared-reads.ts";

const FIND = statement<LinkedPerson>(
  "membership.link_find",
  `select n.id, n.tenant_id as tenant from membership.identity_link l join membership.node n on n.id = l.person_id
   where l.issuer = $1 and l.subject = $2`,
);
const ADD = statement<{ id: string }>(
  "membership.link_add",
  `insert into membership.identity_link (id, issuer, subject, person_id, how, made_by) values ($1, $2, $3, $4, $5, $6)
   on conflict (issuer, subject) do nothing returning id`,
);

/** A subject as one provider names it: never given to somebody else there. */
export interface Subject {
  readonly issuer: string;
  readonly subject: string;
}

export const findLinked = async (sql: Sql, { issuer, subject }: Subject): Promise<LinkedPerson | undefined> =>
  (await sql.run(FIND, [issuer, subject]))[0];

/** Makes the subject the person's; its id, or `undefined` where the subject is somebody's already. */
export const addLink = async (
  sql: Sql,
  link: Subject & { readonly personId: string; readonly how: "first" | "match" | "create" | "administrator"; readonly by: string },
): Promise<string | undefined> => (await sql.run(ADD, [randomUUID(), link.issuer, link.subject, link.personId, link.how, link.by]))[0]?.id;

/** How long what was known of a subject stands in while the database is away, for how many. */
const KEPT_MS = 300_000;
const MOST_KEPT = 2000;

/**
 * Who a subject is here, for every process; read anew for each request of a token, so that an unlinked one is nobody at once. While the
 * database is away, when nothing can be unlinked either, what was last known of a subject counts for five minutes.
 */
export const createPersonOf = (database: Pick<Database, "run">, now: () => Date): PersonOf => {
  const recent = createRecent<{ readonly person: LinkedPerson | undefined }>(MOST_KEPT, now);
  const read = createSharedReads((key) => {
    const [issuer = "", subject = ""] = key.split("\n");
    return findLinked(database as Sql, { issuer, subject });
  });
  // Neither may hold a line break: an issuer is an address, a subject printable ASCII.
  return async (issuer, subject) => {
    if (/[\n\0]/.test(issuer + subject)) return undefined;
    const key = `${issuer}\n${subject}`;
    try {
      const found = await read(key);
      recent.set(key, { person: found }, now().getTime() + KEPT_MS);
      return found;
    } catch (error) {
      const held = error instanceof Problem && error.code === "store_unavailable" ? recent.get(key) : undefined;
      if (held === undefined) throw error;
      return held.person;
    }
  };
};
