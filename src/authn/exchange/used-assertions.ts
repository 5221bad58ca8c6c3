import { createHash } from "node:crypto";
import { statement, type Database } from "#store/database.ts";

const add = statement<{ readonly id_hash: Uint8Array }>(
  "authn.used_assertion.add",
  `with swept as (delete from authn.used_assertion where expires_at < $3)
   insert into authn.used_assertion (id_hash, expires_at) values ($1, $2) on conflict do nothing returning id_hash`,
);

/** Tells the first use of an assertion's id from every later one, over restarts and in all processes. Forgets the expired. */
export const createUsedAssertions = (database: Database, now: () => Date): ((id: string, expiresAt: Date) => Promise<boolean>) => {
  return async (id, expiresAt) =>
    (await database.run(add, [createHash("sha256").update(id).digest(), expiresAt, new Date(now().getTime() - 60_000)])).length > 0;
};
