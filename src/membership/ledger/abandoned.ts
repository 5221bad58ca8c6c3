import { statement, type Database } from "#store/database.ts";
import { wholeGraph } from "#membership/graph/tenant-scope.ts";
import { readClock } from "#membership/graph/sql-parts.ts";
import { release } from "./close-reservation.ts";

const HELD_BEFORE = statement<{ id: string; call_id: string }>(
  "membership.held_before",
  "select id, call_id from membership.reservation where state = 'held' and created_at < $1::timestamptz order by created_at, id",
);

/** Calls whose reservations stay: what became of them is still to be found out. */
export type IsKept = (callId: string) => Promise<boolean>;

/** Gives back what was held before then (RFC 3339, by the database's clock). Answers how many. */
export const releaseAbandoned = async (database: Database, before: string, isKept: IsKept = async () => false): Promise<number> => {
  let released = 0;
  for (const { id, call_id: callId } of await database.run(HELD_BEFORE, [before])) {
    if (await isKept(callId)) continue;
    const delegation = await database.transaction((sql) => release(sql, wholeGraph, id));
    if (delegation !== undefined) released++;
  }
  return released;
};

/**
 * What is held now for calls of a process that died before it recorded that they begin: an act is only done after that, so nothing of them
 * was done. What this answers gives it back; to be called when no other process can be running calls (the embedded database), after what
 * was recorded as begun has been settled.
 */
export const noteAbandoned = async (database: Database): Promise<(isKept: IsKept) => Promise<number>> => {
  const now = await readClock(database);
  return (isKept) => releaseAbandoned(database, now, isKept);
};
