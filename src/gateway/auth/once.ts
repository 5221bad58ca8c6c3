import { createHash } from "node:crypto";
import { statement, type Database, type SqlValue, type Statement } from "#store/database.ts";
import { guardStore } from "#gateway/sessions/guard-store.ts";

/** A sign-in waits no longer for it. */
const ANSWER_MS = 2000;

const ADD = statement<{ id_hash: string }>(
  "gateway.once_add",
  `with swept as (delete from gateway.once where expires_at < $4)
   insert into gateway.once (kind, id_hash, expires_at) values ($1, $2, $3) on conflict do nothing returning id_hash`,
  { withinMs: ANSWER_MS },
);
const FIND = statement<{ id_hash: string }>("gateway.once_find", "select id_hash from gateway.once where kind = $1 and id_hash = $2", {
  withinMs: ANSWER_MS,
});

type Kind = "transaction" | "logout_token";

/**
 * Tells the first use of an id from every later one, in all processes and over restarts. It is a part of the session store:
 * when it cannot tell, both throw `session_store_unavailable`, and the id may be tried again.
 */
export interface Once {
  /** Uses it: true the first time, false ever after. */
  isFirstUse(kind: Kind, id: string, expiresAt: Date): Promise<boolean>;
  /** Only looks. */
  isUsed(kind: Kind, id: string): Promise<boolean>;
}

const hashOf = (id: string): string => createHash("sha256").update(id).digest("base64url");

export const createOnce = (database: Pick<Database, "run">, now: () => Date): Once => {
  const isAnswered = (wanted: Statement<{ id_hash: string }>, values: readonly SqlValue[]): Promise<boolean> =>
    guardStore(async () => (await database.run(wanted, values)).length > 0);
  return {
    isFirstUse: (kind, id, expiresAt) => isAnswered(ADD, [kind, hashOf(id), expiresAt, new Date(now().getTime() - 60_000)]),
    isUsed: (kind, id) => isAnswered(FIND, [kind, hashOf(id)]),
  };
};
