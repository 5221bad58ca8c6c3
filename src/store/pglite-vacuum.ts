import { AsyncLocalStorage } from "node:async_hooks";
import { statement, type Sql, type StoreLog } from "./database.ts";

/** Makes the counts of the last statements count. */
const FLUSH = statement("store.vacuum_flush", "select pg_stat_force_next_flush()");
/** The rule of PostgreSQL's own autovacuum, with its default numbers. */
const DUE = statement<{ table: string }>(
  "store.vacuum_due",
  `select format('%I.%I', s.schemaname, s.relname) as table
   from pg_stat_user_tables as s join pg_class as c on c.oid = s.relid
   where s.n_dead_tup > 50 + 0.2 * greatest(c.reltuples, 0) or s.n_mod_since_analyze > 50 + 0.1 * greatest(c.reltuples, 0)`,
);

/** Log written since the last checkpoint: what a start after a crash has to read again, and the disk has to hold. */
const BEHIND = statement<{ bytes: bigint }>(
  "store.checkpoint_behind",
  "select pg_wal_lsn_diff(pg_current_wal_lsn(), redo_lsn)::bigint as bytes from pg_control_checkpoint()",
);
const MAX_BEHIND_BYTES = 16n * 1_048_576n;

/**
 * The embedded database has no background processes: nobody clears up dead rows, counts the living for the planner or
 * makes checkpoints, so a queue that is always empty and the write-ahead log would grow for ever. This does it, in short
 * steps so that others get their turn.
 */
export const createUpkeep = (parts: {
  readonly run: Sql["run"];
  readonly script: (text: string) => Promise<void>;
  readonly log: StoreLog;
  readonly everyMs: number;
}): AsyncDisposable => {
  const { run, script, log } = parts;
  const apart = AsyncLocalStorage.snapshot();
  let running: Promise<void> | undefined;
  let closed = false;

  const round = async (): Promise<void> => {
    await run(FLUSH);
    for (const { table } of await run(DUE)) if (!closed) await script(`vacuum (analyze) ${table}`);
    const [lag] = await run(BEHIND);
    if (!closed && lag !== undefined && lag.bytes > MAX_BEHIND_BYTES) await script("checkpoint");
  };
  const timer = setInterval(() => {
    running ??= apart(round)
      .catch((error: unknown) => {
        if (!closed) log.warn("store_upkeep_failed", { cause: error });
      })
      .finally(() => {
        running = undefined;
      });
  }, parts.everyMs).unref();

  return {
    [Symbol.asyncDispose]: async () => {
      closed = true;
      clearInterval(timer);
      await running;
    },
  };
};
