import { createHash } from "node:crypto";
import { statement, type Database } from "#store/database.ts";

const ADD = statement<{ id_hash: string }>(
  "gateway.once_add",
  `with swept as (delete from gateway.once where expires_at < $4)
   insert into gateway.once (kind, id_hash, expires_at) values ($1, $2, $3) on conflict do nothing returning id_hash`,
);
const FIND = statement<{ id_hash: string }>("gateway.once_find", "select id_hash from gateway.once where kind = $1 and id_hash = $2");

type Kind = "transaction" | "logout_token";

/** Tells the first use of an id from every later one, in all processes and over restarts. */
export interface Once {
  /** Uses it: true the first time, false ever after. */
  isFirstUse(kind: Kind, id: string, expiresAt: Date): Promise<boolean>;
  /** Only looks. */
  isUsed(kind: Kind, id: string): Promise<boolean>;
}

const hashOf = (id: string): string => createHash("sha256").update(id).digest("base64url");

export const createOnce = (database: Database, now: () => Date): Once => ({
  isFirstUse: async (kind, id, expiresAt) => {
    const swept = new Date(now().getTime() - 60_000);
    return (await database.run(ADD, [kind, hashOf(id), expiresAt, swept])).length > 0;
  },
  isUsed: async (kind, id) => (await database.run(FIND, [kind, hashOf(id)])).length > 0,
});
