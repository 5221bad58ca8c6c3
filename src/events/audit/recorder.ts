import { hostname } from "node:os";
import { Problem } from "#contract/problem.ts";
import { startInterval, type Interval } from "#http/interval.ts";
import { statement, type Database, type TransactionSql } from "#store/database.ts";
import type { Log } from "#telemetry/log.ts";
import type { Metrics } from "#telemetry/metrics.ts";
import type { EventDraft } from "#events/model/event-draft.ts";
import type { SinkInUse, StreamHead } from "#events/model/emit.ts";
import { createUuids } from "#events/model/uuid.ts";
import { createAppender, type Item, type Numbered } from "./appender.ts";
import type { EntryDraft, OpenAct, Recorder, Settle } from "./entry.ts";
import type { Phase } from "./leaf.ts";
import { recoverOpens } from "./recover.ts";
import { createReferences, type References } from "./references.ts";
import { createWriterNumbers } from "./writer-numbers.ts";

export interface RecorderParts {
  readonly database: Database;
  /** Unique for each start of a process. */
  readonly writerId: string;
  readonly service: string;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly now: () => Date;
  /** 32 bytes that wrap the keys of persons' references. */
  readonly kek: Uint8Array;
  /** Told of stream heads that a close raised. */
  readonly bus?: { announce(heads: readonly StreamHead[]): void };
  /** Told that entries wait to be integrated. */
  readonly integrator?: { wake(): void; integrate(): Promise<number> };
  /** Who hears of what is recorded; nobody unless given. */
  readonly sink?: SinkInUse | undefined;
  /** The span under way, which what the sink hears names; none unless given. */
  readonly traceparent?: (() => string | undefined) | undefined;
  readonly openTimeoutMs?: number;
  /** Most acts of this process that are open at once. */
  readonly maxOpenActs?: number;
}

export interface AuditRecorder extends Recorder {
  readonly references: References;
  /**
   * For `change()`: posts rows in a running transaction, and tells which; `ended` must be told how the transaction ended,
   * for only that says whether they were written.
   */
  writeIn(sql: TransactionSql, drafts: readonly EntryDraft[]): Promise<readonly Numbered[]>;
  ended(rows: readonly Numbered[], outcome: "committed" | "rolled_back" | "unknown"): void;
  [Symbol.asyncDispose](): Promise<void>;
}

const BEGIN = statement(
  "events.audit_writer_begin",
  "insert into events.audit_writer (writer, service, host, pid) values ($1, $2, $3, $4)",
);
const SEEN = statement("events.audit_writer_seen", "update events.audit_writer set seen_at = clock_timestamp() where writer = $1");
const END = statement("events.audit_writer_end", "update events.audit_writer set closed_at = clock_timestamp() where writer = $1");

const SEEN_EVERY_MS = 5_000;
const SWEEP_EVERY_MS = 60_000;
const MAX_OPEN_ACTS = 1_000;
const TIMEOUT_MS = 2_000;

const unavailable = (cause: unknown): Problem => new Problem("audit_unavailable", { cause, headers: { "retry-after": "5" } });

/** Resolves to whether the work ended in time; its fault is thrown. */
const inTime = async (work: Promise<void>, milliseconds: number): Promise<boolean> => {
  const late = Promise.withResolvers<boolean>();
  const timer = setTimeout(() => late.resolve(false), milliseconds);
  try {
    return await Promise.race([work.then(() => true), late.promise]);
  } finally {
    clearTimeout(timer);
  }
};

/**
 * Opens and closes acts in the audit log. What is opened is committed before the act starts, or the act must not start;
 * what was done is closed, however long the database takes to accept it.
 */
export const createRecorder = async (parts: RecorderParts): Promise<AuditRecorder> => {
  const { database, log, metrics, now } = parts;
  const timeoutMs = parts.openTimeoutMs ?? TIMEOUT_MS;
  const newId = createUuids(now);
  const references = createReferences(parts.kek, now);
  const numbers = createWriterNumbers();
  const appender = createAppender({
    database,
    references,
    numbers,
    writerId: parts.writerId,
    log,
    newId,
    sink: parts.sink,
    announce: (heads) => {
      if (heads.length > 0) parts.bus?.announce(heads);
      parts.integrator?.wake();
      parts.sink?.notify();
    },
  });
  let openActs = 0;
  const countOpen = (by: number): void => {
    openActs += by;
    metrics.set("audit_open_acts", {}, openActs);
  };

  const itemOf = (phase: Phase, draft: EntryDraft, actId?: string, events: readonly EventDraft[] = []): Item => {
    const entryId = newId();
    const traceparent = parts.sink === undefined ? undefined : parts.traceparent?.();
    return { entryId, traceparent, phase, actId: actId ?? draft.actId ?? entryId, at: now(), draft, events, mustLand: phase === "close" };
  };

  /** Appends in time or throws `audit_unavailable`; an entry that lands after all is given to `late`. */
  const require = async (item: Item, late: () => void): Promise<void> => {
    const started = performance.now();
    const landing = appender.append(item);
    let landed: boolean;
    try {
      landed = await inTime(landing, timeoutMs);
    } catch (cause) {
      metrics.count("audit_blocked_total", { reason: "refused" });
      throw unavailable(cause);
    }
    metrics.observe("audit_append_seconds", { phase: item.phase }, (performance.now() - started) / 1000);
    if (landed) return;
    if (!appender.withdraw(item)) landing.then(late, () => undefined);
    metrics.count("audit_blocked_total", { reason: "timeout" });
    throw unavailable(new Error("the entry was not committed in time"));
  };

  /** Never throws; false = it has not landed yet and is tried on. */
  const close = async (item: Item, landed: () => void): Promise<boolean> => {
    const started = performance.now();
    const landing = appender.append(item).then(landed);
    // Rejected only when the process ends: then the next start settles it.
    const closed = await inTime(landing, timeoutMs).catch(() => false);
    metrics.observe("audit_append_seconds", { phase: "close" }, (performance.now() - started) / 1000);
    return closed;
  };

  const actOf = (draft: Omit<EntryDraft, "outcome">, actId: string): OpenAct => {
    let closing: Promise<"closed" | "pending"> | undefined;
    return {
      actId,
      close: (outcome, data, more = {}) => {
        const closed: EntryDraft = { ...draft, outcome, data, code: more.code ?? draft.code };
        closing ??= close(itemOf("close", closed, actId, more.events), () => countOpen(-1)).then((done) => (done ? "closed" : "pending"));
        return closing;
      },
    };
  };

  const open: Recorder["open"] = async (draft, actId) => {
    if (openActs >= (parts.maxOpenActs ?? MAX_OPEN_ACTS)) {
      metrics.count("audit_blocked_total", { reason: "open_acts" });
      throw unavailable(new Error("too many acts wait for their close"));
    }
    const item = itemOf("open", { ...draft, outcome: "pending" }, actId);
    const act = actOf(draft, item.actId);
    countOpen(1);
    try {
      // Committed too late: the act did not start, and the log shall say so.
      await require(item, () => {
        countOpen(1);
        void act.close("refused", {}, { code: "audit_unavailable" });
      });
    } catch (error) {
      countOpen(-1);
      throw error;
    }
    return act;
  };

  const one = async (draft: EntryDraft): Promise<void> => require(itemOf("single", draft), () => undefined);

  const system = (data: Readonly<Record<string, unknown>>): EntryDraft => ({
    tenant: "*",
    category: "system",
    outcome: "ok",
    actor: { subject: `service:${parts.service}`, kind: "service" },
    via: { service: parts.service },
    resource: { type: "audit_writer", id: parts.writerId },
    correlationId: newId(),
    data,
  });

  const recoverWith = (settle: Settle): Promise<number> =>
    recoverOpens({
      database,
      writerId: parts.writerId,
      log,
      integrate: async () => void (await parts.integrator?.integrate()),
      settle,
      close: (draft, actId) => appender.append(itemOf("close", draft, actId)),
      tell: (data) => one(system(data)),
    });

  await database.run(BEGIN, [parts.writerId, parts.service, hostname(), process.pid]);
  await one(system({ event: "started" }));
  // The embedded database has no other process that could wonder.
  const seen =
    database.kind === "pglite"
      ? undefined
      : startInterval({ everyMs: SEEN_EVERY_MS, work: () => database.run(SEEN, [parts.writerId]), failed: () => undefined });
  let sweep: Interval | undefined;

  return {
    references,
    open,
    one,
    writeIn: (sql, drafts) =>
      appender.appendIn(
        sql,
        drafts.map((draft) => itemOf(draft.phase ?? "single", draft)),
      ),
    ended: (rows, outcome) => {
      appender.ended(rows, outcome);
      if (outcome !== "committed" || rows.length === 0) return;
      parts.integrator?.wake();
      parts.sink?.notify();
    },
    recover: async (settle) => {
      await sweep?.[Symbol.asyncDispose]();
      sweep = startInterval({
        everyMs: SWEEP_EVERY_MS,
        work: () => recoverWith(settle),
        failed: (cause) => log.error("audit_recovery_failed", { cause }),
      });
      return recoverWith(settle);
    },
    [Symbol.asyncDispose]: async () => {
      for (const loop of [seen, sweep]) if (loop !== undefined) await inTime(loop[Symbol.asyncDispose](), timeoutMs);
      await inTime(appender.drained(), timeoutMs);
      await one(system({ event: "stopped", last_n: numbers.lastWithNext() })).catch(() => undefined);
      appender.stop();
      await database.run(END, [parts.writerId]).catch(() => undefined);
    },
  };
};
