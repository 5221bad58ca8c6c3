import { createHash } from "node:crypto";
import { statement, type Database } from "#store/database.ts";

const ADD = statement<{ id_hash: string }>(
  "gateway.once_add",
  `with swept as (delete from gateway.once where expires_at < $4)
   insert into gateway.once (kind, id_hash, expires_at) values ($1, $2, $3) on conflict do nothing returning id_hash`,
);

/** Tells the first use of an id from every later one, in all processes and over restarts. */
export const createOnce =
  (database: Database, now: () => Date) =>
  async (kind: "transaction", id: string, expiresAt: Date): Promise<boolean> => {
    const hash = createHash("sha256").update(id).digest("base64url");
    return (await database.run(ADD, [kind, hash, expiresAt, new Date(now().getTime() - 60_000)])).length > 0;
  };
