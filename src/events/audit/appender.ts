import { AsyncLocalStorage } from "node:async_hooks";
import { setTimeout as sleep } from "node:timers/promises";
import { Problem } from "#contract/problem.ts";
import { createYielding } from "#http/yielding.ts";
import { statement, type Database, type Sql, type TransactionSql } from "#store/database.ts";
import { SqlError } from "#store/sql-error.ts";
import type { Log } from "#telemetry/log.ts";
import type { EventDraft } from "#events/model/event-draft.ts";
import { emit, type SinkInUse, type StreamHead } from "#events/model/emit.ts";
import { eventsOf } from "#events/model/audit-to-event.ts";
import type { EntryDraft } from "./entry.ts";
import { leafOf, logOf, subjectsOf, type Phase } from "./leaf.ts";
import type { References } from "./references.ts";
import type { WriterNumbers } from "./writer-numbers.ts";

/** An entry on its way into the queue. */
export interface Item {
  readonly entryId: string;
  readonly phase: Phase;
  readonly actId: string;
  readonly at: Date;
  readonly draft: EntryDraft;
  readonly events: readonly EventDraft[];
  /** The span that it was made in; what the sink hears of it names it. */
  readonly traceparent: string | undefined;
  /** True for closes: they are tried until they land. */
  readonly mustLand: boolean;
}

export interface Numbered {
  readonly entryId: string;
  readonly n: number;
}

interface Waiting {
  readonly item: Item;
  readonly landed: PromiseWithResolvers<void>;
  row?: { readonly n: number; readonly leaf: string };
}

const APPEND = statement<{ entry_id: string }>(
  "events.audit_append",
  `insert into events.audit_queue (entry_id, log, leaf)
   select id, log, convert_to(leaf, 'UTF8') from unnest($1::uuid[], $2::text[], $3::text[]) as given (id, log, leaf)
   on conflict (entry_id) do nothing returning entry_id`,
);
const THERE = statement<{ entry_id: string }>(
  "events.audit_there",
  `select entry_id from events.audit_queue where entry_id = any($1::uuid[])
   union all select entry_id from events.audit_entry where entry_id = any($1::uuid[])`,
);

const MAX_AT_ONCE = 256;
const MAX_PAUSE_MS = 1_000;
const SLICE_MS = 4;

const isUnavailable = (error: unknown): boolean => error instanceof Problem && error.code === "store_unavailable";

export interface AppenderParts {
  readonly database: Database;
  readonly references: References;
  readonly numbers: WriterNumbers;
  readonly writerId: string;
  readonly log: Log;
  readonly newId: () => string;
  /** Who hears of entries that are events too. */
  readonly sink?: SinkInUse | undefined;
  readonly announce: (heads: readonly StreamHead[]) => void;
}

/**
 * Group commit: what arrives while one batch is being written goes into the next, up to 256 entries a statement, without
 * a timer. A batch whose outcome is unknown (the connection broke) is tried again until it is known to be there; ids make
 * that harmless.
 */
export const createAppender = (parts: AppenderParts) => {
  const { database, references, numbers, writerId, log, newId, sink } = parts;
  const waiting: Waiting[] = [];
  let doubtful: Numbered[] = [];
  let running: Promise<void> | undefined;
  let stopped = false;
  /** Batches belong to nobody in particular: not to the context of whoever came first. */
  const apart = AsyncLocalStorage.snapshot();

  /** Numbers and texts of entries; those that have theirs keep them. */
  const build = async (sql: Sql, all: readonly Waiting[], remember: boolean): Promise<void> => {
    const wanted = new Map<string, Set<string>>();
    for (const { item } of all) {
      const subjects = wanted.get(logOf(item.draft.tenant)) ?? new Set();
      wanted.set(logOf(item.draft.tenant), subjects);
      for (const subject of subjectsOf(item.draft)) subjects.add(subject);
    }
    const turn = createYielding(SLICE_MS);
    for (const [tenant, subjects] of [...wanted].sort(([one], [other]) => (one < other ? -1 : 1))) {
      const refs = await references.resolve(sql, tenant, subjects, { remember });
      for (const held of all) {
        const { item } = held;
        if (held.row !== undefined || logOf(item.draft.tenant) !== tenant) continue;
        const actor = refs.get(item.draft.actor.subject);
        const sealed =
          item.draft.sealed === undefined || actor === undefined
            ? undefined
            : references.seal(tenant, item.draft.actor.subject, actor, item.entryId, item.draft.sealed);
        const n = numbers.take();
        try {
          held.row = { n, leaf: leafOf({ ...item, writer: { id: writerId, n }, refs, sealed }) };
        } catch (error) {
          numbers.giveBack([n]);
          throw error;
        }
        const others = all.length > 1 ? turn() : undefined;
        if (others !== undefined) await others;
      }
    }
  };

  const valuesOf = (all: readonly Waiting[]) => [
    all.map(({ item }) => item.entryId),
    all.map(({ item }) => logOf(item.draft.tenant)),
    all.map(({ row }) => row?.leaf ?? ""),
  ];

  /** What the sink hears of because it was recorded. */
  const reported = (all: readonly Waiting[]): readonly EventDraft[] =>
    sink === undefined
      ? []
      : all.flatMap(({ item, row }) => {
          const { traceparent, draft } = item;
          return row === undefined ? [] : eventsOf(draft.tenant, draft.category, row.leaf).map((event) => ({ ...event, traceparent }));
        });

  const insert = async (batch: readonly Waiting[]): Promise<readonly StreamHead[]> => {
    const events = [...batch.flatMap(({ item }) => item.events), ...reported(batch)];
    if (events.length === 0) {
      await database.run(APPEND, valuesOf(batch));
      return [];
    }
    return database.transaction(async (sql) => {
      sql.post(APPEND, valuesOf(batch));
      return emit(sql, events, { newId, sink });
    });
  };

  const forget = (held: Waiting): void => {
    if (held.row !== undefined) numbers.giveBack([held.row.n]);
    delete held.row;
  };

  /** Numbers of transactions whose commit was never answered: used if the rows are there, else free. */
  const settleDoubts = async (): Promise<void> => {
    if (doubtful.length === 0) return;
    const asked = doubtful;
    const there = new Set((await database.run(THERE, [asked.map(({ entryId }) => entryId)])).map((row) => row.entry_id));
    doubtful = doubtful.filter((row) => !asked.includes(row));
    numbers.giveBack(asked.filter(({ entryId }) => !there.has(entryId)).map(({ n }) => n));
  };

  /** Writes a batch; answers those that could not be written, with the fault. */
  const write = async (batch: readonly Waiting[]): Promise<void> => {
    let left = batch;
    for (let pause = 50; ; pause = Math.min(pause * 2, MAX_PAUSE_MS)) {
      try {
        await settleDoubts();
        await build(database, left, true);
        parts.announce(await insert(left));
        for (const { landed } of left) landed.resolve();
        return;
      } catch (error) {
        if (stopped) return left.forEach(({ landed }) => landed.reject(error));
        if (!isUnavailable(error)) return refuse(left, error);
        log.warn("audit_blocked", { entries: left.length, cause: error });
        await sleep(pause);
        left = await withoutLanded(left);
        if (left.length === 0) return;
      }
    }
  };

  const withoutLanded = async (batch: readonly Waiting[]): Promise<readonly Waiting[]> => {
    const rows = await database.run(THERE, [batch.map(({ item }) => item.entryId)]).catch(() => []);
    const there = new Set(rows.map((row) => row.entry_id));
    for (const { item, landed } of batch) if (there.has(item.entryId)) landed.resolve();
    return batch.filter(({ item }) => !there.has(item.entryId));
  };

  /** The database (or the form) refused: one bad entry must not take the others along, and a close is tried again later. */
  const refuse = async (batch: readonly Waiting[], error: unknown): Promise<void> => {
    batch.forEach(forget);
    if (batch.length > 1) {
      for (const held of batch) await write([held]);
      return;
    }
    const [held] = batch;
    if (held === undefined) return;
    log.error("audit_blocked", { act_id: held.item.actId, phase: held.item.phase, cause: error });
    if (!held.item.mustLand) return held.landed.reject(error);
    // Not refused by the database: its own data or events are the fault, and would be for ever.
    const item =
      error instanceof SqlError ? held.item : { ...held.item, events: [], draft: { ...held.item.draft, data: { invalid: true } } };
    setTimeout(() => enqueue({ item, landed: held.landed }), MAX_PAUSE_MS).unref();
  };

  const drain = async (): Promise<void> => {
    while (waiting.length > 0) await write(waiting.splice(0, MAX_AT_ONCE));
  };

  const enqueue = (held: Waiting): void => {
    waiting.push(held);
    running ??= apart(drain).finally(() => {
      running = undefined;
    });
  };

  return {
    /** Resolves when it is committed; rejects when it certainly is not. */
    append: (item: Item): Promise<void> => {
      const landed = Promise.withResolvers<void>();
      enqueue({ item, landed });
      return landed.promise;
    },
    /** Takes back what is not yet under way. True: it will not be written. */
    withdraw: (item: Item): boolean => {
      const at = waiting.findIndex((held) => held.item === item);
      if (at === -1) return false;
      waiting.splice(at, 1);
      return true;
    },
    /** Posts rows in a running transaction. The numbers they took, for `ended`; if it throws, they are free again. */
    appendIn: async (sql: TransactionSql, items: readonly Item[]): Promise<readonly Numbered[]> => {
      const all = items.map((item): Waiting => ({ item, landed: Promise.withResolvers<void>() }));
      try {
        await build(sql, all, false);
        sql.post(APPEND, valuesOf(all));
        await emit(sql, reported(all), { newId, sink });
      } catch (error) {
        all.forEach(forget);
        throw error;
      }
      return all.map(({ item, row }) => ({ entryId: item.entryId, n: row?.n ?? 0 }));
    },
    /** How that transaction ended: its numbers are used, free again, or to be looked up. */
    ended: (rows: readonly Numbered[], outcome: "committed" | "rolled_back" | "unknown"): void => {
      if (outcome === "rolled_back") numbers.giveBack(rows.map(({ n }) => n));
      if (outcome === "unknown") doubtful.push(...rows);
    },
    /** Resolves when nothing waits. */
    drained: async (): Promise<void> => {
      while (running !== undefined) await running;
    },
    /** Gives up what still waits: the process ends. */
    stop: (): void => {
      stopped = true;
    },
  };
};
