import { putNotificationChoice, readNotificationChoice } from "#contract/notifications.ts";
import { Problem } from "#contract/problem.ts";
import { isService } from "#authn/model/actor-kind.ts";
import type { Caller } from "#authn/model/caller.ts";
import type { Router } from "#http/serve.ts";
import { statement, type Database, type Sql } from "#store/database.ts";

const READ = statement<{ mail: boolean }>(
  "crud.notification_choice_read",
  "select mail from crud.notification_choice where tenant = $1 and person = $2",
);
const PUT = statement(
  "crud.notification_choice_put",
  `insert into crud.notification_choice (tenant, person, mail) values ($1, $2, $3)
   on conflict (tenant, person) do update set mail = excluded.mail`,
);

/** Whether the person wants mail; true until they chose otherwise. */
export const wantsMail = async (sql: Sql, tenant: string, person: string): Promise<boolean> =>
  (await sql.run(READ, [tenant, person]))[0]?.mail ?? true;

const requirePerson = (caller: Caller): void => {
  if (isService(caller)) throw new Problem("person_required");
};

/** A person's own choice of how to be notified. */
export const serveChoice = (router: Router<Caller>, { database }: { readonly database: Database }): void => {
  router.serve(readNotificationChoice, async ({ caller }) => {
    requirePerson(caller);
    return { mail: await wantsMail(database, caller.tenant, caller.sub) };
  });
  router.serve(putNotificationChoice, async ({ caller, body }) => {
    requirePerson(caller);
    await database.run(PUT, [caller.tenant, caller.sub, body.mail]);
    return body;
  });
};
