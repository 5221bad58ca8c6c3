import { AsyncLocalStorage } from "node:async_hooks";
import { statement, type Database } from "#store/database.ts";
import type { Log } from "#telemetry/log.ts";
import type { StreamHead } from "#events/model/emit.ts";

export type Integrator = ReturnType<typeof createIntegrator>;

/**
 * A round in one statement, so that no leaf leaves the database for it. Without the lock nothing is taken. The hash of a
 * leaf is that of RFC 6962: of 0x00 and its bytes, so that no leaf can pass for a node. Each leaf is read once (`offset 0`
 * keeps the planner from reading it again for every column). What another round took since this one began is gone from the
 * queue and not taken again; the size of a log is its newest.
 */
const MOVE = statement<{ log: string; size: bigint; moved: bigint }>(
  "events.integrate",
  `with lock as materialized (select pg_try_advisory_xact_lock(7236128452) as mine),
   taken as (
     delete from events.audit_queue where entry_id in
       (select entry_id from events.audit_queue where (select mine from lock) order by entry_id limit $1)
     returning entry_id, log, leaf),
   grown as (
     insert into events.audit_log as l (log, origin, size)
     select log, $2 || '/' || log || '/1', count(*) from taken group by log order by log
     on conflict (log) do update set size = l.size + excluded.size
     returning l.log, l.size),
   placed as (
     select t.log, t.entry_id, t.leaf, g.size - count(*) over (partition by t.log)
         + row_number() over (partition by t.log order by t.entry_id) - 1 as seq
     from taken t join grown g using (log)),
   kept as (
     insert into events.audit_entry (log, seq, entry_id, leaf, leaf_hash, at, writer, writer_n, category, phase, act_id, outcome, code,
       subject_ref, agent_id, delegation_id, session_ref, tool, resource_type, resource_id, resource_ref, decision_id, run_id, correlation_id)
     select log, seq, entry_id, leaf, sha256('\\x00'::bytea || leaf),
       (e ->> 'at')::timestamptz, e -> 'writer' ->> 'id', (e -> 'writer' ->> 'n')::bigint, e ->> 'category', e ->> 'phase', e ->> 'act_id',
       e ->> 'outcome', e ->> 'code', e -> 'actor' ->> 'subject_ref', e -> 'actor' ->> 'agent_id', e -> 'actor' ->> 'delegation_id',
       e -> 'actor' ->> 'session_ref', e -> 'data' ->> 'tool', e -> 'resource' ->> 'type', e -> 'resource' ->> 'id',
       e -> 'resource' ->> 'ref', e ->> 'decision_id', e -> 'data' ->> 'run_id', e ->> 'correlation_id'
     from placed, lateral (select convert_from(leaf, 'UTF8')::jsonb as e offset 0) as read
     returning log)
   select g.log, g.size, (select count(*) from kept k where k.log = g.log) as moved from grown g order by g.log`,
);

const MAX_AT_ONCE = 256;
/** While there was something to move lately: another process may have held the lock, and not have seen what came last. */
const MAX_WAIT_MS = 200;
const LATELY_MS = 2_000;
/** While nothing happens: for what a process wrote that ended before it could move it. */
const QUIET_WAIT_MS = 5_000;
/** Entries of one moment are moved together: nobody waits for it. */
const SOON_MS = 20;

export interface IntegratorParts {
  readonly database: Database;
  readonly log: Log;
  /** Public host of Sallyport; a log's origin is `<origin>/<log>/<generation>`. */
  readonly origin: string;
  /** Told of the logs that grew: they are the `activity` streams. */
  readonly bus?: { announce(heads: readonly StreamHead[]): void };
  /** Longest wait between rounds; default 200 ms, and 5 s while nothing happens. */
  readonly everyMs?: number;
}

/** Moves entries from the queue into the logs, which gives them their place. One process at a time does it. */
export const createIntegrator = (parts: IntegratorParts) => {
  const { database, log, origin } = parts;
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<void> | undefined;
  let again = false;
  let soon = false;
  let closed = false;
  let failing = false;
  let busyAt = performance.now();
  const apart = AsyncLocalStorage.snapshot();

  const round = async (): Promise<{ readonly moved: number; readonly heads: readonly StreamHead[] }> => {
    const grown = await database.run(MOVE, [MAX_AT_ONCE, origin]);
    return {
      moved: grown.reduce((total, { moved }) => total + Number(moved), 0),
      heads: grown.map(({ log: tenant, size }) => ({ tenant, stream: "activity", version: size - 1n })),
    };
  };

  /**
   * Moves all that waits, and answers how many entries that were. One after the other in this process: a round must not take its own
   * process's lock for another's.
   */
  let rounds: Promise<unknown> = Promise.resolve();
  const integrate = (): Promise<number> => {
    const after = rounds.then(integrateNow);
    rounds = after.catch(() => undefined);
    return after;
  };

  const integrateNow = async (): Promise<number> => {
    let total = 0;
    for (;;) {
      const { moved, heads } = await round();
      total += moved;
      if (moved > 0) busyAt = performance.now();
      if (heads.length > 0) parts.bus?.announce(heads);
      if (moved < MAX_AT_ONCE) return total;
    }
  };

  const work = async (): Promise<void> => {
    do {
      again = false;
      await integrate();
    } while (again);
    failing = false;
  };

  const run = (): void => {
    clearTimeout(timer);
    soon = false;
    again = true;
    if (closed || running !== undefined) return;
    running = apart(work)
      .catch((error: unknown) => {
        if (!failing) log.error("audit_integration_failed", { cause: error });
        failing = true;
      })
      .finally(() => {
        running = undefined;
        const isBusy = failing || performance.now() - busyAt < LATELY_MS;
        if (!closed && !soon) timer = setTimeout(run, parts.everyMs ?? (isBusy ? MAX_WAIT_MS : QUIET_WAIT_MS)).unref();
      });
  };
  run();

  return {
    integrate,
    /** New entries are waiting: the next round is due in 20 ms. */
    wake: (): void => {
      if (closed || soon) return;
      soon = true;
      busyAt = performance.now();
      clearTimeout(timer);
      timer = setTimeout(run, SOON_MS).unref();
    },
    [Symbol.asyncDispose]: async (): Promise<void> => {
      closed = true;
      clearTimeout(timer);
      await running;
      // What was recorded last gets its place before Sallyport is dark; what does not get it now gets it at the next start.
      await integrate().catch((cause: unknown) => log.warn("audit_integration_failed", { cause }));
    },
  };
};
