import { startInterval } from "#http/interval.ts";
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
/** Rows that a configured sink has not taken stay, those that it refused too; once it is configured no more nobody waits for them. */
const DELETE = statement<{ n: number }>(
  "events.retention_delete",
  `with gone as (
     delete from events.outbox where tenant = $1 and stream = $2 and version >= $3 and version < $4
       and (sink is null or sent_at is not null or not $5) returning 1)
   select count(*)::int as n from gone`,
);

/** The same for rows that no stream shows, and for those that were waited for when their stream's window left them behind. */
const DELETE_KEPT = statement<{ n: number }>(
  "events.retention_delete_kept",
  `with gone as (
     delete from events.outbox where seq in (
       select o.seq from events.outbox o left join events.stream_head h on h.tenant = o.tenant and h.stream = o.stream
       where o.sink is not null and o.at < clock_timestamp() - make_interval(hours => $1) and (o.sent_at is not null or (o.sink = 'kafka' and not $3))
         and (o.stream is null or o.version < h.oldest) order by o.seq limit $2)
     returning 1)
   select count(*)::int as n from gone`,
);

export interface RetentionParts {
  readonly database: Database;
  readonly log: Log;
  readonly replayHours: number;
  /** Whether a sink is configured. */
  readonly hasSink?: boolean;
  /** Newest events of each stream that stay however old they are; default 10000. */
  readonly keepNewest?: number;
  /** Default 10 minutes. */
  readonly everyMs?: number;
}

const AT_ONCE = 5_000n;

/** Lets old events go. Whoever still asks for them is told that the window is lost. */
export const createRetention = (parts: RetentionParts) => {
  const { database, log } = parts;
  const keep = BigInt(parts.keepNewest ?? 10_000);
  const hasSink = parts.hasSink === true;

  /** Deletes what is over; answers how many rows that were. */
  const sweep = async (): Promise<number> => {
    let gone = 0;
    for (const { tenant, stream, version } of await database.run(STREAMS, [keep])) {
      const [old] = await database.run(LAST_OLD, [tenant, stream, version - keep, parts.replayHours]);
      if (old === undefined || old.last === null || old.first === null) continue;
      // First the promise is taken back, then the rows go: no reader is promised what is not there.
      await database.run(RAISE_OLDEST, [tenant, stream, old.last + 1n]);
      for (let from = old.first; from <= old.last; from += AT_ONCE) {
        const to = from + AT_ONCE > old.last + 1n ? old.last + 1n : from + AT_ONCE;
        const [deleted] = await database.run(DELETE, [tenant, stream, from, to, hasSink]);
        gone += deleted?.n ?? 0;
      }
    }
    for (;;) {
      const [deleted] = await database.run(DELETE_KEPT, [parts.replayHours, Number(AT_ONCE), hasSink]);
      gone += deleted?.n ?? 0;
      if ((deleted?.n ?? 0) < Number(AT_ONCE)) return gone;
    }
  };

  const loop = startInterval({
    everyMs: parts.everyMs ?? 600_000,
    work: sweep,
    failed: (cause) => log.warn("outbox_retention_failed", { cause }),
  });
  return { sweep, [Symbol.asyncDispose]: () => loop[Symbol.asyncDispose]() };
};
