import { join } from "node:path";
import { holdDataFolder } from "./data-folder-lock.ts";
import type { Database, Sql, StoreLog, Transaction } from "./database.ts";
import { brokenFolder, prepareFolder } from "./pglite-folder.ts";
import type { ServerReply, ServerStart } from "./pglite-protocol.ts";
import { inThread, NotStarted, onThisThread, type ThreadClient } from "./pglite-threads.ts";
import { askFor, createPgliteTransaction, rowsOf, type Ask } from "./pglite-transaction.ts";
import { createUpkeep } from "./pglite-vacuum.ts";
import { isUnavailable, SqlError, storeUnavailable } from "./sql-error.ts";
import { beginText, createNestingGuard, rolledBack, withFreshPlan, withRetries } from "./transaction.ts";

export type PgliteOptions = {
  readonly log: StoreLog;
  /** Longest pause inside a transaction; default 30 s. */
  readonly idleInTransactionMs?: number;
  /** How often dead rows are cleared up and checkpoints considered; default each minute. */
  readonly upkeepEveryMs?: number;
} & (
  | { readonly dataFolder: string }
  | {
      readonly memory: true;
      readonly snapshot?: string;
      /** `caller`, for tests: it computes on the thread that asks it. No other is woken for each question, and that one's loop is held. */
      readonly thread?: "own" | "caller";
    }
);

/** The embedded database, and what only it can do. */
export interface PgliteDatabase extends Database {
  readonly kind: "pglite";
  /** The whole data folder as an uncompressed tar; written to a file, `createPglite({memory, snapshot})` starts from it. */
  dump(): Promise<Blob>;
}

interface Waiting {
  readonly resolve: (reply: ServerReply) => void;
  readonly reject: (error: unknown) => void;
  readonly statement: string | undefined;
}

/**
 * PGlite in a thread of its own unless that is said otherwise. In memory, or in `<dataFolder>/pg` with `<dataFolder>/lock` held until it is closed (throws
 * `DataFolderLocked`, or `FolderError` where nothing can be kept). It survives the death of the process but, having no fsync, not the loss of power.
 */
export const createPglite = async (options: PgliteOptions): Promise<PgliteDatabase> => {
  const folder = "dataFolder" in options ? join(options.dataFolder, "pg") : undefined;
  const lock = "dataFolder" in options ? await holdDataFolder(options.dataFolder) : undefined;
  const files =
    folder === undefined
      ? undefined
      : await prepareFolder(folder).catch(async (error: unknown) => {
          await lock?.release();
          throw error;
        });
  const start: ServerStart = {
    folder,
    snapshot: "memory" in options ? options.snapshot : undefined,
    idleInTransactionMs: options.idleInTransactionMs ?? 30_000,
  };

  const waiting = new Map<number, Waiting>();
  const received = new Map<string, Set<(payload: string) => void>>();
  const guard = createNestingGuard();
  let gone: unknown;
  let lastId = 0;
  let lastTransaction = 0;

  const fail = (cause: unknown): void => {
    gone ??= cause;
    for (const { reject } of waiting.values()) reject(storeUnavailable(cause));
    waiting.clear();
  };

  const settle = (reply: Extract<ServerReply, { id: number }>): void => {
    const held = waiting.get(reply.id);
    waiting.delete(reply.id);
    if (held === undefined) return;
    if (!("failure" in reply)) return held.resolve(reply);
    const failure = new SqlError(reply.failure, held.statement);
    held.reject(isUnavailable(failure.code) ? storeUnavailable(failure) : failure);
  };

  const requester: ThreadClient = {
    hear: (reply) => {
      if ("id" in reply) settle(reply);
      else for (const tell of received.get(reply.channel) ?? []) tell(reply.payload);
    },
    lose: fail,
  };
  const open = "memory" in options && options.thread === "caller" ? onThisThread : inThread;
  const server = await open(start, requester, options.log).catch(async (error: unknown) => {
    await lock?.release();
    if (!(error instanceof NotStarted)) throw error;
    throw folder === undefined ? new Error(`the embedded database did not start: ${error.message}`) : brokenFolder(folder, error.message);
  });

  await files?.opened();

  const post = (request: Ask, tx: number): Promise<ServerReply> =>
    new Promise((resolve, reject) => {
      if (gone !== undefined) return reject(storeUnavailable(gone));
      const id = ++lastId;
      waiting.set(id, { resolve, reject, statement: "name" in request ? request.name : undefined });
      server.ask({ ...request, id, tx });
    });
  const once = async <T>(work: (sql: Transaction) => Promise<T>, begin: string): Promise<T> => {
    const tx = ++lastTransaction;
    const transaction = createPgliteTransaction((request) => post(request, tx));
    await post({ op: "begin", text: begin }, tx);
    try {
      const result = await guard.run(() => work(transaction.sql));
      if ((await transaction.end("commit")) === "ROLLBACK") throw rolledBack();
      return result;
    } catch (error) {
      await transaction.end("rollback").catch(() => undefined);
      throw error;
    }
  };

  const run: Sql["run"] = async (statement, values) => {
    guard.check(statement.name);
    const request = askFor(statement, values);
    return withFreshPlan(async () => rowsOf(await post(request, 0)));
  };
  const script = async (text: string): Promise<void> => {
    guard.check("script");
    await post({ op: "script", text }, 0);
  };
  const upkeep = createUpkeep({ run, script, log: options.log, everyMs: options.upkeepEveryMs ?? 60_000 });
  const quoted = (channel: string): string => `"${channel.replaceAll('"', '""')}"`;

  return {
    kind: "pglite",
    run,
    script,
    transaction: (work, choices) => {
      guard.check("transaction");
      const begin = beginText(choices);
      return withRetries(() => once(work, begin));
    },
    listen: async (channel, hear) => {
      const hearers = received.get(channel) ?? new Set();
      received.set(channel, hearers);
      if (hearers.size === 0) await script(`listen ${quoted(channel)}`);
      // A hearer of its own for each call, so that the same function may listen twice.
      const hearer = (payload: string): void => hear(payload);
      hearers.add(hearer);
      return async () => {
        hearers.delete(hearer);
        if (hearers.size === 0 && gone === undefined) await script(`unlisten ${quoted(channel)}`);
      };
    },
    isListening: () => gone === undefined,
    notify: async (channel, payload) => void (await run({ name: "store.notify", text: "select pg_notify($1, $2)" }, [channel, payload])),
    ready: async () => void (await run({ name: "store.ready", text: "select 1" })),
    dump: async () => ((await post({ op: "dump" }, 0)) as Extract<ServerReply, { dump: Blob }>).dump,
    [Symbol.asyncDispose]: async () => {
      await upkeep[Symbol.asyncDispose]();
      if (gone === undefined) {
        await post({ op: "close" }, 0).catch(() => undefined);
        gone ??= new Error("the database is closed");
      }
      await server.stop();
      await lock?.release();
    },
  };
};
