import { Problem } from "#contract/problem.ts";
import { startInterval } from "#http/interval.ts";
import { statement, type Database } from "#store/database.ts";
import type { Log } from "#telemetry/log.ts";
import type { Metrics } from "#telemetry/metrics.ts";

const PENDING = statement<{ pending: number; oldest: number }>(
  "events.outbox_pending",
  `select count(*)::int as pending, coalesce(extract(epoch from clock_timestamp() - min(at)), 0)::float8 as oldest
   from events.outbox where sink = 'kafka' and sent_at is null and dead_at is null`,
);
const DEAD = statement<{ dead: number }>(
  "events.outbox_dead_count",
  "select count(*)::int as dead from events.outbox where dead_at is not null",
);

export type Backlog = ReturnType<typeof createBacklog>;

const EVERY_MS = 5_000;
/** A process that tells nothing looks this often for what another one left. */
const IDLE_EVERY_MS = 30_000;
/** From here on health is degraded, though nothing is refused yet. */
const ALMOST = 0.8;
const LATE_SECONDS = 60;

/** What waits for the sink, as metrics and health tell it. */
export const createBacklog = (parts: {
  readonly database: Database;
  readonly log: Log;
  readonly metrics: Metrics;
  /** Rows from which on changes with events are refused. */
  readonly maxRows: number;
  readonly everyMs?: number;
  /** Between two looks while nothing happens; default 30 s. */
  readonly idleEveryMs?: number;
}) => {
  const { database, log, metrics, maxRows } = parts;
  const name = "kafka" as const;
  let counted = { pending: 0, oldest: 0, dead: 0 };
  let issue: string | undefined;
  // What an earlier process left may wait.
  let isReported = true;
  let measuredAt = Number.NEGATIVE_INFINITY;

  /** False: nothing waits, as far as this process can know, and nobody need look. */
  const isAwaited = (): boolean => isReported || counted.pending > 0;
  /** Counts now. */
  const measure = async (): Promise<void> => {
    isReported = false;
    measuredAt = performance.now();
    const [[waiting], [gone]] = await Promise.all([database.run(PENDING), database.run(DEAD)]);
    counted = { pending: waiting?.pending ?? 0, oldest: waiting?.oldest ?? 0, dead: gone?.dead ?? 0 };
    // Where nothing waits nobody knows how the sink is, and nobody misses it.
    if (counted.pending === 0) issue = undefined;
    metrics.set("events_outbox_pending", { sink: name }, counted.pending);
    metrics.set("events_outbox_oldest_seconds", { sink: name }, counted.oldest);
    metrics.set("events_outbox_dead", {}, counted.dead);
  };
  const loop = startInterval({
    everyMs: parts.everyMs ?? EVERY_MS,
    // Each count reads all that waits: none is made while nothing happens.
    work: async () => {
      if (isAwaited() || performance.now() - measuredAt >= (parts.idleEveryMs ?? IDLE_EVERY_MS)) await measure();
    },
    failed: (cause) => log.warn("outbox_backlog", { cause }),
  });

  return {
    name,
    measure,
    isAwaited,
    notify: (): void => {
      isReported = true;
    },
    /** What the relay heard of the sink last: a fault, or nothing. True where it is other than before. */
    received: (now: string | undefined): boolean => {
      const isOther = now !== issue;
      issue = now;
      return isOther;
    },
    requireCapacity: (): void => {
      if (counted.pending >= maxRows) throw new Problem("event_backlog_full", { headers: { "retry-after": "30" } });
    },
    /** What health says is wrong, with the lag; empty while all is well. Never waits for the sink. */
    issues: (): readonly string[] => {
      const { pending, oldest } = counted;
      if (issue === undefined && oldest < LATE_SECONDS && pending < maxRows * ALMOST) return [];
      return [...(issue === undefined ? [] : [issue]), `pending ${pending}`, `oldest ${Math.round(oldest)} s`];
    },
    [Symbol.asyncDispose]: () => loop[Symbol.asyncDispose](),
  };
};
