import { AsyncLocalStorage } from "node:async_hooks";
import { createHash } from "node:crypto";
import { statement, type Database, type Sql } from "#store/database.ts";
import type { Log } from "#telemetry/log.ts";
import type { StreamHead } from "#events/emit.ts";

/** Moves entries from the queue into the logs, which gives them their place. One process at a time does it. */
export interface Integrator {
  /** Moves all that waits; answers how many entries it moved. */
  integrate(): Promise<number>;
  /** New entries are waiting: the next round is due in 20 ms. */
  wake(): void;
  [Symbol.asyncDispose](): Promise<void>;
}

interface Queued {
  readonly entry_id: string;
  readonly log: string;
  readonly leaf: Uint8Array;
}

const LOCK = statement<{ mine: boolean }>("events.integrator_lock", "select pg_try_advisory_xact_lock(7236128452) as mine");
const TAKE = statement<Queued>(
  "events.integrator_take",
  `delete from events.audit_queue where entry_id in (select entry_id from events.audit_queue order by entry_id limit $1)
   returning entry_id, log, leaf`,
);
const SIZE = statement<{ size: bigint }>(
  "events.integrator_size",
  `insert into events.audit_log as l (log, origin, size) values ($1, $2 || '/' || $1 || '/1', $3)
   on conflict (log) do update set size = l.size + excluded.size returning size`,
);
/** Each leaf is read once (`offset 0` keeps the planner from reading it again for every column). */
const INSERT = statement(
  "events.integrator_insert",
  `insert into events.audit_entry (log, seq, entry_id, leaf, leaf_hash, at, writer, writer_n, category, phase, act_id, outcome, code,
     subject_ref, agent_id, delegation_id, session_ref, tool, resource_type, resource_id, resource_ref, decision_id, run_id, correlation_id)
   select $1, $2::bigint + place - 1, id::uuid, convert_to(leaf, 'UTF8'), decode(hash, 'hex'),
     (e ->> 'at')::timestamptz, e -> 'writer' ->> 'id', (e -> 'writer' ->> 'n')::bigint, e ->> 'category', e ->> 'phase', e ->> 'act_id',
     e ->> 'outcome', e ->> 'code', e -> 'actor' ->> 'subject_ref', e -> 'actor' ->> 'agent_id', e -> 'actor' ->> 'delegation_id',
     e -> 'actor' ->> 'session_ref', e -> 'data' ->> 'tool', e -> 'resource' ->> 'type', e -> 'resource' ->> 'id',
     e -> 'resource' ->> 'ref', e ->> 'decision_id', e -> 'data' ->> 'run_id', e ->> 'correlation_id'
   from unnest($3::text[], $4::text[], $5::text[]) with ordinality as given (id, leaf, hash, place), lateral (select leaf::jsonb as e offset 0) as read`,
);

const MOST_AT_ONCE = 256;
const LONGEST_WAIT_MS = 200;
/** Entries of one moment are moved together: nobody waits for it. */
const SOON_MS = 20;

/** RFC 6962: the hash of a leaf is that of 0x00 and its bytes, so that no leaf can pass for a node. */
export const leafHash = (leaf: Uint8Array): string => createHash("sha256").update(Uint8Array.of(0)).update(leaf).digest("hex");

/** Entry ids sort by time; rows of a `delete ... returning` come in any order. */
const byId = (one: Queued, other: Queued): number => (one.entry_id < other.entry_id ? -1 : 1);

/** Answers the index of the last entry. */
const appendTo = async (sql: Sql, origin: string, log: string, entries: readonly Queued[]): Promise<bigint> => {
  const [held] = await sql.run(SIZE, [log, origin, entries.length]);
  if (held === undefined) throw new Error("the log has no size");
  await sql.run(INSERT, [
    log,
    held.size - BigInt(entries.length),
    entries.map(({ entry_id }) => entry_id),
    entries.map(({ leaf }) => Buffer.from(leaf).toString("utf8")),
    entries.map(({ leaf }) => leafHash(leaf)),
  ]);
  return held.size - 1n;
};

export interface IntegratorParts {
  readonly database: Database;
  readonly log: Log;
  /** Public host of the house; a log's origin is `<origin>/<log>/<generation>`. */
  readonly origin: string;
  /** Told of the logs that grew: they are the `activity` streams. */
  readonly bus?: { announce(heads: readonly StreamHead[]): void };
  /** Longest wait between rounds; default 200 ms. */
  readonly everyMs?: number;
}

export const createIntegrator = (parts: IntegratorParts): Integrator => {
  const { database, log, origin } = parts;
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<void> | undefined;
  let again = false;
  let soon = false;
  let closed = false;
  let failing = false;
  const apart = AsyncLocalStorage.snapshot();

  const round = (): Promise<{ readonly moved: number; readonly heads: readonly StreamHead[] }> =>
    database.transaction(async (sql) => {
      const [lock] = await sql.run(LOCK);
      if (lock?.mine !== true) return { moved: 0, heads: [] };
      const taken = [...(await sql.run(TAKE, [MOST_AT_ONCE]))].sort(byId);
      const heads: StreamHead[] = [];
      for (const [name, entries] of Map.groupBy(taken, (entry) => entry.log))
        heads.push({ tenant: name, stream: "activity", version: await appendTo(sql, origin, name, entries) });
      return { moved: taken.length, heads };
    });

  /** One after the other in this process: a round must not take its own process's lock for another's. */
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
      if (heads.length > 0) parts.bus?.announce(heads);
      if (moved < MOST_AT_ONCE) return total;
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
        if (!closed && !soon) timer = setTimeout(run, parts.everyMs ?? LONGEST_WAIT_MS).unref();
      });
  };
  run();

  return {
    integrate,
    wake: () => {
      if (closed || soon) return;
      soon = true;
      clearTimeout(timer);
      timer = setTimeout(run, SOON_MS).unref();
    },
    [Symbol.asyncDispose]: async () => {
      closed = true;
      clearTimeout(timer);
      await running;
      // What was recorded last gets its place before the house is dark; what does not get it now gets it at the next start.
      await integrate().catch((cause: unknown) => log.warn("audit_integration_failed", { cause }));
    },
  };
};
