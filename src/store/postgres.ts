import pg from "pg";
import { Problem } from "#contract/problem.ts";
import { statement, type Database, type Sql, type StoreLog, type Transaction } from "./database.ts";
import { createPostgresListener } from "./postgres-listener.ts";
import { createDeadline, type Deadline } from "./deadline.ts";
import { Pipeline, type Step } from "./postgres-pipeline.ts";
import { createPostgresTransaction, type Flown } from "./postgres-transaction.ts";
import { isLateAnswer, isSilent, isStalePlan, isUnavailable, ServerSilent, SqlError, storeUnavailable } from "./sql-error.ts";
import { beginText, createNestingGuard, withFreshPlan, withRetries } from "./transaction.ts";
import { decodeRows, encodeValue } from "./values.ts";

export interface PostgresOptions {
  /** `postgres://user:password@host:port/database?...`; never logged. */
  readonly url: string;
  /** For LISTEN, where `url` leads to a pooler that cannot; default `url`. */
  readonly listenUrl?: string | undefined;
  readonly poolSize: number;
  readonly log: StoreLog;
  /** Longest time of one statement; default 30 s. */
  readonly statementTimeoutMs?: number;
  /** Longest pause inside a transaction; default 30 s. */
  readonly idleInTransactionMs?: number;
}

const OLDEST = 150_000;
const CONNECT_MS = 5_000;
/** Beyond the time that the server gives a statement: it said nothing though it should have refused. */
const GRACE_MS = 5_000;
/** Whether it answers at all takes no longer to see. */
const READY_MS = 2_000;

/** Text form and UTC everywhere, whatever the server's defaults are. */
const SESSION = "set timezone to 'UTC'; set datestyle to 'ISO'; set bytea_output to 'hex'; set extra_float_digits to 1";

const issueOf = (error: unknown, statement?: string): unknown => {
  if (!(error instanceof pg.DatabaseError)) {
    if (error instanceof TypeError) return error;
    return storeUnavailable(isLateAnswer(error) ? new ServerSilent(statement ?? "script", { cause: error }) : error);
  }
  const { code = "XX000", message, constraint, table } = error;
  const failure = new SqlError({ code, message, constraint, table }, statement);
  return isUnavailable(code) ? storeUnavailable(failure) : failure;
};

/** The connection is broken, or holds a statement that it cannot prepare anew. What the work itself threw says nothing of it. */
const isWornOut = (error: unknown): boolean => (error instanceof Problem && error.code === "store_unavailable") || isStalePlan(error);

/** As the driver takes it; its types leave the time out. */
interface TimedQuery extends pg.QueryConfig {
  readonly query_timeout?: number;
}

const TIMEOUT = statement("store.statement_timeout", "select set_config('statement_timeout', $1, true)");

/** A statement behind the time that it may take, which holds until its transaction ends: of one that is alone, with it. */
const timed = (step: Step): readonly Step[] =>
  step.statement.timeoutMs === undefined ? [step] : [{ statement: TIMEOUT, values: [String(step.statement.timeoutMs)] }, step];

const setUp: TimedQuery = { text: SESSION, query_timeout: CONNECT_MS };

/**
 * PostgreSQL 15 or newer behind a pool. Throws `store_unavailable` when it does not answer and an Error when it is too
 * old. Faults of the connection are `store_unavailable`; what the server says of a statement is a `SqlError`. A server
 * that is there and says nothing holds a connection no longer than the statement may take: it is broken off then, and
 * its place in the pool is free.
 */
export const createPostgres = async (options: PostgresOptions): Promise<Database> => {
  const statementMs = options.statementTimeoutMs ?? 30_000;
  const maxMs = statementMs + GRACE_MS;
  const pool = new pg.Pool({
    connectionString: options.url,
    max: options.poolSize,
    connectionTimeoutMillis: CONNECT_MS,
    idleTimeoutMillis: 60_000,
    statement_timeout: statementMs,
    lock_timeout: 10_000,
    idle_in_transaction_session_timeout: options.idleInTransactionMs ?? 30_000,
    keepAlive: true,
    application_name: "sallyport",
    // The pool waits for it, though its types do not say so; a connection that cannot be set up is not lent.
    onConnect: ((client: pg.ClientBase) => client.query(setUp)) as (client: pg.ClientBase) => void,
  });
  /** Connections on which an answer was waited for in vain: whatever is asked there next would wait behind it. */
  const silent = new WeakSet<pg.PoolClient>();
  let closing: Promise<void> | undefined;
  pool.on("error", (error) => {
    if (closing === undefined) options.log.warn("store_connection_lost", { cause: error });
  });
  const guard = createNestingGuard();

  const received = (client: pg.PoolClient, failure: unknown): unknown => {
    if (isSilent(failure)) silent.add(client);
    return failure;
  };
  /** Together the steps may take as long as one statement. */
  const fly = async (client: pg.PoolClient, steps: readonly Step[], patience: Deadline): Promise<Flown> => {
    const longest = Math.min(...steps.map(({ statement }) => statement.withinMs ?? maxMs), maxMs);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const pipeline = new Pipeline(steps.flatMap(timed), patience.left(longest), (error) =>
      error === undefined ? resolve() : reject(error),
    );
    client.query(pipeline);
    try {
      await promise;
      return { pipeline };
    } catch (error) {
      return { pipeline, failure: received(client, issueOf(error, pipeline.name)) };
    }
  };
  const scriptOn = async (client: pg.PoolClient, text: string, longest?: number): Promise<string> => {
    const query: TimedQuery = { text, query_timeout: longest };
    try {
      const results = (await client.query(query)) as pg.QueryResult | readonly pg.QueryResult[];
      return (Array.isArray(results) ? results.at(-1)?.command : (results as pg.QueryResult).command) ?? "";
    } catch (error) {
      throw received(client, issueOf(error));
    }
  };

  /** Lends a connection; one that failed in itself is thrown away, not lent again. */
  const withClient = async <T>(work: (client: pg.PoolClient) => Promise<T>, patience?: Deadline): Promise<T> => {
    if (closing !== undefined) throw storeUnavailable(new Error("the database is closed"));
    const lent = pool.connect();
    const client = await (patience === undefined ? lent : patience.waitFor(lent, (late) => late.release())).catch((error: unknown) => {
      throw issueOf(error);
    });
    let worn = false;
    // A connection lent out reports its loss to whoever uses it; unheard it would end the process.
    const lost = (): void => {
      worn = true;
    };
    client.on("error", lost);
    try {
      return await work(client);
    } catch (error) {
      worn ||= isWornOut(error);
      throw error;
    } finally {
      client.removeListener("error", lost);
      client.release(worn || silent.has(client));
    }
  };

  const once = <T>(work: (sql: Transaction) => Promise<T>, begin: string, patience: Deadline): Promise<T> =>
    withClient(async (client) => {
      const transaction = createPostgresTransaction({
        begin,
        fly: (steps) => fly(client, steps, patience),
        script: (text) => scriptOn(client, text),
        end: (word) => scriptOn(client, word, patience.left(maxMs)),
      });
      try {
        const result = await guard.run(() => work(transaction.sql));
        await transaction.commit();
        return result;
      } catch (error) {
        // A rollback that fails leaves an open transaction behind: the connection must not be lent again. Where nothing is
        // answered none would be heard: the end of the connection undoes it.
        if (!silent.has(client)) await transaction.rollback();
        throw error;
      }
    }, patience);

  const runAlone = async <Row>(step: Step, patience: Deadline): Promise<readonly Row[]> => {
    const pipeline = await withClient(async (client) => {
      const sent = await fly(client, [step], patience);
      if ("failure" in sent) throw sent.failure;
      return sent.pipeline;
    }, patience);
    return decodeRows<Row>(pipeline.columns, pipeline.rows);
  };

  const run: Sql["run"] = async (statement, values = []) => {
    guard.check(statement.name);
    const patience = createDeadline(statement.withinMs);
    const step = { statement, values: values.map(encodeValue) };
    return withFreshPlan(() => runAlone(step, patience));
  };

  const listener = createPostgresListener({ url: options.listenUrl ?? options.url, log: options.log });
  const database: Database = {
    kind: "postgres",
    run,
    script: async (text) => {
      guard.check("script");
      await withClient((client) => scriptOn(client, text));
    },
    transaction: (work, choices) => {
      guard.check("transaction");
      const begin = beginText(choices);
      const patience = createDeadline(choices?.withinMs);
      return withRetries(() => once(work, begin, patience));
    },
    listen: (channel, received, regained) => listener.listen(channel, received, regained),
    isListening: () => listener.isConnected(),
    notify: async (channel, payload) => void (await run({ name: "store.notify", text: "select pg_notify($1, $2)" }, [channel, payload])),
    ready: async () => void (await run({ name: "store.ready", text: "select 1", withinMs: READY_MS })),
    [Symbol.asyncDispose]: async () => {
      closing ??= Promise.all([listener.close(), pool.end()]).then(() => undefined);
      await closing;
    },
  };

  try {
    const [server] = await run<{ number: number }>({
      name: "store.version",
      text: "select current_setting('server_version_num')::int as number",
    });
    if (server === undefined || server.number < OLDEST) throw new Error("PostgreSQL 15 or newer is needed");
    return database;
  } catch (error) {
    await database[Symbol.asyncDispose]();
    throw error;
  }
};
