import { randomUUID } from "node:crypto";
import { startInterval } from "#http/interval.ts";
import type { Database } from "#store/database.ts";
import type { Log } from "#telemetry/log.ts";
import type { Metrics } from "#telemetry/metrics.ts";
import { noTracing, type Tracing } from "#telemetry/tracing.ts";
import type { Backlog } from "./backlog.ts";
import { cloudEventOf, deadLetterOf, type CloudEventParts } from "./cloud-event.ts";
import { RecordRefused, SinkUnavailable, type EventSink, type OutboxRow } from "./event-sink.ts";
import { createLanes, type Lease } from "./lanes.ts";

export interface RelayParts extends CloudEventParts {
  readonly database: Database;
  readonly sink: EventSink;
  readonly backlog: Pick<Backlog, "received" | "isAwaited">;
  readonly log: Log;
  readonly metrics: Metrics;
  /** Traces; none unless given. */
  readonly tracing?: Tracing | undefined;
  /** Tries of a record that is refused for what it is, before it is dead. */
  readonly maxAttempts: number;
  /** Longest send; no send starts with less of the lease left. */
  readonly deliveryTimeoutMs: number;
  /** Wait between rounds; default 500 ms. */
  readonly everyMs?: number;
  /** Default 30 s. */
  readonly leaseSeconds?: number;
}

const LEASE_SECONDS = 30;
const SPARE_MS = 2_000;
const MAX_BYTES = 900 * 1024;
const FIRST_PAUSE_MS = 1_000;
const MAX_PAUSE_MS = 30_000;
const MAX_WAIT_SECONDS = 300;

/** The lease is over before everything was sent: who holds it next goes on. */
class LeaseOver extends Error {}

const keyOf = ({ topic, key }: OutboxRow): string => `${topic}\0${key}`;

/** As many rows as one send may hold, at least one. */
const batchOf = (rows: readonly OutboxRow[]): readonly OutboxRow[] => {
  let bytes = 0;
  const over = rows.findIndex(({ data }, at) => (bytes += Buffer.byteLength(data)) > MAX_BYTES && at > 0);
  return over === -1 ? rows : rows.slice(0, over);
};

/**
 * Takes rows of the outbox to the sink: at least once, each key in its order. Several processes share the lanes by leases. While
 * the sink is away everything waits, for ever, tried again after 1 s doubling to 30 s; a record that is refused for what it is
 * is tried `maxAttempts` times, holds back only its own key, and then goes to the dead letters.
 */
export const createRelay = (parts: RelayParts): AsyncDisposable => {
  const { sink, log, metrics, backlog, maxAttempts } = parts;
  const { leaseSeconds = LEASE_SECONDS, tracing = noTracing } = parts;
  const lanes = createLanes({ database: parts.database, owner: randomUUID(), leaseSeconds });
  const spareMs = Math.min(parts.deliveryTimeoutMs + SPARE_MS, (leaseSeconds * 1000) / 2);
  let pauseMs = 0;
  let pausedUntil = 0;

  const count = (rows: readonly OutboxRow[], status: "sent" | "retried" | "dead"): void => {
    for (const { topic } of rows) metrics.count("bff_kafka_messages_total", { topic: `${parts.topicPrefix}${topic}`, status });
  };
  const requireTime = (lease: Lease): void => {
    if (lease.until - performance.now() < spareMs) throw new LeaseOver();
  };

  /** The copy may be as large as what was refused, so the value may stay behind; it stands in the outbox. */
  const sendDeadLetter = async (row: OutboxRow, error: string): Promise<void> => {
    for (const withValue of [true, false]) {
      try {
        return await sink.send([deadLetterOf(cloudEventOf(row, parts), error, withValue)]);
      } catch (cause) {
        if (!(cause instanceof RecordRefused)) throw cause;
      }
    }
  };

  const refused = async (lease: Lease, row: OutboxRow, { message }: RecordRefused): Promise<void> => {
    const attempts = row.attempts + 1;
    const isDead = attempts >= maxAttempts;
    if (isDead) await sendDeadLetter(row, message);
    await lanes.markRefused(lease, row, message, isDead ? undefined : Math.min(2 ** attempts, MAX_WAIT_SECONDS));
    count([row], isDead ? "dead" : "retried");
    log.warn(isDead ? "outbox_dead" : "outbox_retry", { id: row.id, topic: row.topic, attempts, reason: message });
  };

  /** A span of the sending, linked to the spans that made the rows; named after their topic where they have one together. */
  const handOver = (rows: readonly OutboxRow[]): Promise<void> => {
    const work = () => sink.send(rows.map((row) => cloudEventOf(row, parts)));
    if (!tracing.isRecording) return work();
    const topics = [...new Set(rows.map(({ topic }) => topic))];
    const links = rows.flatMap(({ traceparent }) => traceparent ?? []);
    const name = topics.length === 1 ? `outbox.deliver ${parts.topicPrefix}${topics[0]}` : "outbox.deliver";
    return tracing.span(
      name,
      { kind: "producer", links, facts: { "messaging.system": "kafka", "messaging.batch.message_count": rows.length } },
      work,
    );
  };

  /** Sends rows in their order. Which of them is refused is found by halves; later rows of its key wait for it. */
  const send = async (lease: Lease, rows: readonly OutboxRow[], held: Set<string>): Promise<void> => {
    const some = rows.filter((row) => !held.has(keyOf(row)));
    const [first] = some;
    if (first === undefined) return;
    requireTime(lease);
    try {
      await handOver(some);
    } catch (error) {
      if (!(error instanceof RecordRefused)) {
        count(some, "retried");
        throw error;
      }
      if (some.length === 1) {
        held.add(keyOf(first));
        return refused(lease, first, error);
      }
      const half = some.length >> 1;
      await send(lease, some.slice(0, half), held);
      return send(lease, some.slice(half), held);
    }
    const waited = await lanes.markSent(lease, some);
    count(some, "sent");
    for (const seconds of waited) metrics.observe("events_delivery_seconds", { sink: "kafka" }, seconds);
    if (waited.length < some.length) throw new LeaseOver();
  };

  const relayLanes = async (lease: Lease, signal: AbortSignal): Promise<void> => {
    try {
      while (!signal.aborted) {
        const due = await lanes.due(lease);
        const rows = batchOf(due.rows);
        if (rows.length > 0) await send(lease, rows, new Set());
        if (due.isAll && rows.length === due.rows.length) return;
      }
    } catch (error) {
      if (!(error instanceof LeaseOver)) throw error;
    } finally {
      await lanes.release(lease);
    }
  };

  const drain = async (signal: AbortSignal): Promise<void> => {
    for (let lease = await lanes.claim(); lease !== undefined && !signal.aborted; lease = await lanes.claim()) {
      await relayLanes(lease, signal);
      pauseMs = 0;
      backlog.received(undefined);
    }
  };
  const round = async (signal: AbortSignal): Promise<void> => {
    if (!backlog.isAwaited() || performance.now() < pausedUntil) return;
    try {
      // Of other lanes, and so of other keys: while one waits for the sink the other has the database.
      const ends = await Promise.allSettled([drain(signal), drain(signal)]);
      for (const end of ends) if (end.status === "rejected") throw end.reason;
    } catch (error) {
      if (!(error instanceof SinkUnavailable)) throw error;
      pauseMs = Math.min(Math.max(pauseMs * 2, FIRST_PAUSE_MS), MAX_PAUSE_MS);
      pausedUntil = performance.now() + Math.random() * pauseMs;
      if (backlog.received(error.message)) log.warn("outbox_retry", { reason: error.message });
    }
  };
  return startInterval({
    everyMs: parts.everyMs ?? 500,
    work: round,
    failed: (cause) => log.error("outbox_relay_failed", { cause }),
  });
};
