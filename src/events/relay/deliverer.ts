import { startInterval } from "#http/interval.ts";
import { postSinkRows, type SinkRow } from "#events/model/notice.ts";
import { statement, type Database } from "#store/database.ts";
import type { Log } from "#telemetry/log.ts";

/** A row as a sink gets it. */
export interface DueRow {
  readonly seq: bigint;
  /** Stays the same for each attempt. */
  readonly id: string;
  readonly tenant: string;
  readonly sink: SinkRow["sink"];
  readonly key: string;
  readonly data: unknown;
  /** RFC 3339. */
  readonly at: string;
  readonly attempts: number;
}

/** The receiver did not take it. What else is thrown is a fault of this deployment: the row is tried again without end. */
export class NotDelivered extends Error {
  override readonly name = "NotDelivered";
  /** Another attempt does not help. */
  readonly isFinal: boolean;
  /** What the receiver asks to wait. */
  readonly afterSeconds: number | undefined;
  constructor(message: string, more: { readonly isFinal?: boolean; readonly afterSeconds?: number | undefined } = {}) {
    super(message);
    this.isFinal = more.isFinal === true;
    this.afterSeconds = more.afterSeconds;
  }
}

/** Rows that come in place of the delivered one, in one transaction with its mark; why nothing was sent. */
export interface Delivered {
  readonly rows?: readonly SinkRow[];
  readonly skipped?: string;
}
export type Deliver = (row: DueRow) => Promise<Delivered>;
export type DeliveryResult = "sent" | "skipped" | "retried" | "dead";

// What is claimed is out of sight of other processes for longer than a delivery may take.
const CLAIM = statement<DueRow>(
  "events.sink_claim",
  `update events.outbox o set attempts = o.attempts + 1, next_at = clock_timestamp() + interval '2 minutes'
   where o.sent_at is null and o.dead_at is null and o.next_at <= clock_timestamp() and o.seq in (
     select d.seq from (
       select w.seq, row_number() over (partition by w.tenant, w.sink, w.key order by w.seq) as place from events.outbox w
       where w.lane is null and w.sink is not null and w.sink = any($1) and w.sent_at is null and w.dead_at is null
         and w.next_at <= clock_timestamp() and concat_ws(' ', w.sink, w.tenant, w.key) <> all($2)) d
     where d.place <= $3 order by d.seq limit $4)
   returning o.seq, o.id, o.tenant, o.sink, o.key, o.data, o.at, o.attempts`,
);
const mine = "where seq = $1 and attempts = $2 and sent_at is null and dead_at is null";
const SENT = statement<{ seq: bigint }>(
  "events.sink_sent",
  `update events.outbox set sent_at = clock_timestamp(), error = $3 ${mine} returning seq`,
);
const RETRY = statement(
  "events.sink_retry",
  `update events.outbox set error = $3, next_at = clock_timestamp() + make_interval(secs => $4), attempts = attempts - $5 ${mine}`,
);
const DEAD = statement("events.sink_dead", `update events.outbox set error = $3, dead_at = clock_timestamp() ${mine}`);

/** Of one channel at once. */
const AT_ONCE = 4;
const MAX_ROWS = 64;
const MAX_WAIT_SECONDS = 300;
const AWAY_SECONDS = 30;

export interface DelivererContext {
  readonly database: Database;
  readonly sinks: Readonly<Partial<Record<SinkRow["sink"], Deliver>>>;
  /** Attempts before a row is dead. */
  readonly maxAttempts: number;
  readonly log: Log;
  readonly ended: (row: DueRow, result: DeliveryResult) => void;
  /** Default 1 s. */
  readonly everyMs?: number | undefined;
  /** Of the first wait after a failure, which doubles; default 2 s. */
  readonly firstWaitSeconds?: number | undefined;
}

/**
 * Delivers rows of the outbox that need no order, at least once. A channel has a few deliveries at once, so one whose receiver hangs
 * delays no other. A row that is not taken waits 2 s, doubling to 5 min, and is dead after `maxAttempts`. No transaction is open meanwhile.
 */
export const createDeliverer = (parts: DelivererContext): AsyncDisposable => {
  const { database, sinks, log, maxAttempts } = parts;
  const busy = new Map<string, Promise<void>>();
  let isStopping = false;

  const mark = async (row: DueRow, { rows = [], skipped }: Delivered): Promise<void> => {
    const values = [row.seq, row.attempts, skipped ?? null] as const;
    if (rows.length === 0) return void (await database.run(SENT, values));
    await database.transaction(async (sql) => {
      if ((await sql.run(SENT, values)).length > 0) postSinkRows(sql, rows);
    });
  };

  const failed = async (row: DueRow, error: unknown): Promise<DeliveryResult> => {
    const message = (error instanceof Error ? error.message : String(error)).slice(0, 500);
    const values = [row.seq, row.attempts, message] as const;
    if (!(error instanceof NotDelivered)) {
      log.warn("notification_waits", { id: row.id, sink: row.sink, cause: error });
      await database.run(RETRY, [...values, AWAY_SECONDS * (0.5 + Math.random() / 2), 1]);
      return "retried";
    }
    if (error.isFinal || row.attempts >= maxAttempts) {
      log.warn("notification_dead", { id: row.id, sink: row.sink, channel: row.key, attempts: row.attempts, reason: message });
      await database.run(DEAD, values);
      return "dead";
    }
    const wait = Math.max((parts.firstWaitSeconds ?? 2) * 2 ** (row.attempts - 1), error.afterSeconds ?? 0);
    await database.run(RETRY, [...values, Math.min(wait, MAX_WAIT_SECONDS), 0]);
    return "retried";
  };

  const deliver = async (row: DueRow): Promise<void> => {
    let result: DeliveryResult;
    try {
      const delivered = (await sinks[row.sink]?.(row)) ?? {};
      await mark(row, delivered);
      result = delivered.skipped === undefined ? "sent" : "skipped";
    } catch (error) {
      result = await failed(row, error);
    }
    parts.ended(row, result);
  };

  const deliverAll = async (channel: string, rows: readonly DueRow[]): Promise<void> => {
    const ends = await Promise.allSettled(rows.map(deliver));
    busy.delete(channel);
    for (const end of ends) if (end.status === "rejected") warn(end.reason);
    // There may be more of it, or what a notice became.
    if (rows.length >= AT_ONCE || rows.some(({ sink }) => sink === "notice")) next();
  };

  const warn = (cause: unknown): void => log.warn("notifications_failed", { cause });
  const look = async (): Promise<void> => {
    if (isStopping) return;
    const rows = await database.run(CLAIM, [Object.keys(sinks), [...busy.keys()], AT_ONCE, MAX_ROWS]);
    for (const [channel, some] of Map.groupBy(rows, ({ sink, tenant, key }) => `${sink} ${tenant} ${key}`)) {
      busy.set(channel, deliverAll(channel, some));
    }
  };
  let looking: Promise<void> = Promise.resolve();
  /** One look at a time: what is under way is known to the next. */
  const next = (): void => {
    const before = looking;
    looking = (async () => {
      await before;
      await look().catch(warn);
    })();
  };

  const loop = startInterval({ everyMs: parts.everyMs ?? 1000, work: () => (next(), looking), failed: warn });
  return {
    [Symbol.asyncDispose]: async () => {
      isStopping = true;
      await loop[Symbol.asyncDispose]();
      await looking;
      await Promise.all(busy.values());
    },
  };
};
