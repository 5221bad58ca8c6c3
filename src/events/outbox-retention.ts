import { AsyncLocalStorage } from "node:async_hooks";
import { statement, type Database } from "#store/database.ts";
import type { Log } from "#telemetry/log.ts";

const STREAMS = statement<{ tenant: string; stream: string; version: bigint }>(
  "events.retention_streams",
  "select tenant, stream, version from events.stream_head where version - oldest >= $1",
);
/** The newest version that may go: old enough, and not one of those always kept. */
const LAST_OLD = statement<{ first: bigint | null; last: bigint | null }>(
  "events.retention_last_old",
  `select min(version) as first, max(version) as last from events.outbox
   where tenant = $1 and stream = $2 and version <= $3 and at < clock_timestamp() - make_interval(hours => $4)`,
);
const RAISE_OLDEST = statement(
  "events.retention_raise",
  "update events.stream_head set oldest = greatest(oldest, $3) where tenant = $1 and stream = $2",
);
/** Rows that another system still waits for stay. */
const DELETE = statement<{ n: number }>(
  "events.retention_delete",
  `with gone as (
     delete from events.outbox where tenant = $1 and stream = $2 and version >= $3 and version < $4
       and (sink is null or sent_at is not null) returning 1)
   select count(*)::int as n from gone`,
);

/** Rows for other systems alone: what was sent, and what nobody came for in all that time. */
const DELETE_KEPT = statement<{ n: number }>(
  "events.retention_delete_kept",
  `with gone as (
     delete from events.outbox where seq in (
       select seq from events.outbox where stream is null and at < clock_timestamp() - make_interval(hours => $1) order by seq limit $2)
     returning 1)
   select count(*)::int as n from gone`,
);

export interface RetentionParts {
  readonly database: Database;
  readonly log: Log;
  readonly replayHours: number;
  /** Newest events of each stream that stay however old they are; default 10000. */
  readonly keepNewest?: number;
  /** Default 10 minutes. */
  readonly everyMs?: number;
}

export interface Retention {
  /** Deletes what is over; answers how many rows that were. */
  sweep(): Promise<number>;
  [Symbol.asyncDispose](): Promise<void>;
}

const AT_ONCE = 5_000n;

/** Lets old events go. Whoever still asks for them is told that the window is lost. */
export const createRetention = (parts: RetentionParts): Retention => {
  const { database, log } = parts;
  const keep = BigInt(parts.keepNewest ?? 10_000);
  const apart = AsyncLocalStorage.snapshot();
  let sweeping: Promise<unknown> = Promise.resolve();

  const sweep = async (): Promise<number> => {
    let gone = 0;
    for (const { tenant, stream, version } of await database.run(STREAMS, [keep])) {
      const [old] = await database.run(LAST_OLD, [tenant, stream, version - keep, parts.replayHours]);
      if (old === undefined || old.last === null || old.first === null) continue;
      // First the promise is taken back, then the rows go: no reader is promised what is not there.
      await database.run(RAISE_OLDEST, [tenant, stream, old.last + 1n]);
      for (let from = old.first; from <= old.last; from += AT_ONCE) {
        const to = from + AT_ONCE > old.last + 1n ? old.last + 1n : from + AT_ONCE;
        const [deleted] = await database.run(DELETE, [tenant, stream, from, to]);
        gone += deleted?.n ?? 0;
      }
    }
    for (;;) {
      const [deleted] = await database.run(DELETE_KEPT, [parts.replayHours, Number(AT_ONCE)]);
      gone += deleted?.n ?? 0;
      if ((deleted?.n ?? 0) < Number(AT_ONCE)) return gone;
    }
  };

  const timer = setInterval(() => {
    sweeping = apart(sweep).catch((error: unknown) => log.warn("outbox_retention_failed", { cause: error }));
  }, parts.everyMs ?? 600_000).unref();

  return {
    sweep,
    [Symbol.asyncDispose]: async () => {
      clearInterval(timer);
      await sweeping;
    },
  };
};
