import { Problem } from "#contract/problem.ts";
import { namesTag } from "#http/entity-tags.ts";
import { statement, type Sql } from "#store/database.ts";
import { outdateRequests } from "#pdp/records/outdated-requests.ts";

/** Which version decides, which one beside it, and how often that changed. */
export interface Pointer {
  readonly active: string;
  readonly shadow: string | null;
  readonly epoch: bigint;
  /** Digest of the policy files of the last start. */
  readonly imported: string | null;
}

/** All replicas hear of a move here; who misses it reads the pointer within a second. */
export const POINTER_CHANNEL = "pdp_pointer";

const read = statement<Pointer>("pdp.pointer.read", "select active, shadow, epoch, imported from pdp.pointer where id = 1");
const readLocked = statement<Pointer>(
  "pdp.pointer.lock",
  "select active, shadow, epoch, imported from pdp.pointer where id = 1 for update",
);
const place = statement<{ readonly epoch: bigint }>(
  "pdp.pointer.place",
  "insert into pdp.pointer (id, active, epoch) values (1, $1, 1) on conflict (id) do nothing returning epoch",
);
const move = statement<{ readonly epoch: bigint }>(
  "pdp.pointer.move",
  "update pdp.pointer set active = $1, shadow = $2, epoch = epoch + 1 where id = 1 and epoch = $3 returning epoch",
);
const noteImported = statement("pdp.pointer.imported", "update pdp.pointer set imported = $1 where id = 1");
const setState = statement("pdp.bundle.state", "update pdp.bundle set state = $2 where version = $1");
const setActive = statement(
  "pdp.bundle.activate",
  "update pdp.bundle set state = 'active', activated_at = clock_timestamp() where version = $1",
);
const notify = statement("pdp.pointer.notify", "select pg_notify($1, $2)");

export const readPointer = async (sql: Sql): Promise<Pointer | undefined> => (await sql.run(read))[0];

/** As `readPointer`; nobody else moves it until the transaction ends. */
export const lockPointer = async (sql: Sql): Promise<Pointer | undefined> => (await sql.run(readLocked))[0];

export const markImported = (sql: Sql, digest: string): Promise<unknown> => sql.run(noteImported, [digest]);

/** Places the first pointer of a database. False: there was one. */
export const placePointer = async (sql: Sql, version: string): Promise<boolean> => {
  if ((await sql.run(place, [version])).length === 0) return false;
  await sql.run(setActive, [version]);
  await sql.run(notify, [POINTER_CHANNEL, "1"]);
  return true;
};

/**
 * Moves the pointer, with the states of the versions concerned and the end of what was approved under others, in the caller's transaction; whoever listens hears of it
 * at the commit. Throws `stale_version` when somebody moved it since `from` was read.
 */
export const movePointer = async (
  sql: Sql,
  from: Pointer,
  to: { readonly active: string; readonly shadow: string | null },
): Promise<bigint> => {
  const [moved] = await sql.run(move, [to.active, to.shadow, from.epoch]);
  if (moved === undefined) throw new Problem("stale_version", { detail: "Another version was made to decide in the meantime." });
  if (from.shadow !== null && from.shadow !== to.shadow && from.shadow !== to.active) await sql.run(setState, [from.shadow, "draft"]);
  if (from.active !== to.active) {
    await sql.run(setState, [from.active, "retired"]);
    await sql.run(setActive, [to.active]);
    await outdateRequests(sql, to.active);
  }
  if (to.shadow !== null && to.shadow !== from.shadow) await sql.run(setState, [to.shadow, "shadow"]);
  await sql.run(notify, [POINTER_CHANNEL, String(moved.epoch)]);
  return moved.epoch;
};

/** ETag of what decides: it changes with every activation, rollback and shadow. */
export const epochTag = (epoch: bigint): string => `"epoch-${epoch}"`;

/** Throws `stale_version` when the sender read another state than the present one. Without a header nothing is checked. */
export const requireEpoch = (ifMatch: string | null, pointer: Pointer): void => {
  if (ifMatch === null || namesTag(ifMatch, epochTag(pointer.epoch))) return;
  throw new Problem("stale_version", {
    detail: "Another version was made to decide since you read it.",
    headers: { etag: epochTag(pointer.epoch) },
  });
};
