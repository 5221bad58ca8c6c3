import pg from "pg";
import { Problem } from "#contract/problem.ts";
import type { Database, Sql, SqlValue, Statement, StoreLog, Transaction } from "./database.ts";
import { createPostgresEar } from "./postgres-ear.ts";
import { isStalePlan, isUnavailable, SqlFault, storeUnavailable } from "./sql-fault.ts";
import { beginText, createNestingGuard, rolledBack, withFreshPlan, withRetries } from "./transaction.ts";
import { decoderOf, encodeValue } from "./values.ts";

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

/** Text form and UTC everywhere, whatever the server's defaults are. */
const SESSION = "set timezone to 'UTC'; set datestyle to 'ISO'; set bytea_output to 'hex'; set extra_float_digits to 1";
const types = { getTypeParser: (oid: number) => decoderOf(oid) } as unknown as pg.CustomTypesConfig;

const faultOf = (error: unknown, statement?: string): unknown => {
  if (!(error instanceof pg.DatabaseError)) return error instanceof TypeError ? error : storeUnavailable(error);
  const { code = "XX000", message, constraint, table } = error;
  const fault = new SqlFault({ code, message, constraint, table }, statement);
  return isUnavailable(code) ? storeUnavailable(fault) : fault;
};

/** The connection is broken, or holds a statement that it cannot prepare anew. What the work itself threw says nothing of it. */
const isWornOut = (error: unknown): boolean => (error instanceof Problem && error.code === "store_unavailable") || isStalePlan(error);

/**
 * PostgreSQL 15 or newer behind a pool. Throws `store_unavailable` when it does not answer and an Error when it is too
 * old. Faults of the connection are `store_unavailable`; what the server says of a statement is a `SqlFault`.
 */
export const createPostgres = async (options: PostgresOptions): Promise<Database> => {
  const pool = new pg.Pool({
    connectionString: options.url,
    max: options.poolSize,
    connectionTimeoutMillis: 5_000,
    idleTimeoutMillis: 60_000,
    statement_timeout: options.statementTimeoutMs ?? 30_000,
    lock_timeout: 10_000,
    idle_in_transaction_session_timeout: options.idleInTransactionMs ?? 30_000,
    keepAlive: true,
    application_name: "sallyport",
    types,
    // The pool waits for it, though its types do not say so; a connection that cannot be set up is not lent.
    onConnect: ((client: pg.ClientBase) => client.query(SESSION)) as (client: pg.ClientBase) => void,
  });
  let closing: Promise<void> | undefined;
  pool.on("error", (error) => {
    if (closing === undefined) options.log.warn("store_connection_lost", { cause: error });
  });
  const guard = createNestingGuard();

  const runOn = async <Row>(
    client: pg.PoolClient,
    statement: Statement<Row>,
    values: readonly SqlValue[] = [],
  ): Promise<readonly Row[]> => {
    const encoded = values.map(encodeValue);
    try {
      return (await client.query({ name: statement.name, text: statement.text, values: encoded })).rows as readonly Row[];
    } catch (error) {
      throw faultOf(error, statement.name);
    }
  };
  const scriptOn = async (client: pg.PoolClient, text: string): Promise<string> => {
    try {
      const results = (await client.query(text)) as pg.QueryResult | readonly pg.QueryResult[];
      return (Array.isArray(results) ? results.at(-1)?.command : (results as pg.QueryResult).command) ?? "";
    } catch (error) {
      throw faultOf(error);
    }
  };

  /** Lends a connection; one that failed in itself is thrown away, not lent again. */
  const withClient = async <T>(work: (client: pg.PoolClient) => Promise<T>): Promise<T> => {
    if (closing !== undefined) throw storeUnavailable(new Error("the database is closed"));
    const client = await pool.connect().catch((error: unknown) => {
      throw faultOf(error);
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
      client.release(worn);
    }
  };

  const once = <T>(work: (sql: Transaction) => Promise<T>, begin: string): Promise<T> =>
    withClient(async (client) => {
      await scriptOn(client, begin);
      try {
        const result = await guard.run(() =>
          work({
            run: (statement, values) => runOn(client, statement, values),
            script: async (text) => void (await scriptOn(client, text)),
          }),
        );
        if ((await scriptOn(client, "commit")) === "ROLLBACK") throw rolledBack();
        return result;
      } catch (error) {
        // A rollback that fails leaves an open transaction behind: the connection must not be lent again.
        await scriptOn(client, "rollback");
        throw error;
      }
    });

  const run: Sql["run"] = async (statement, values) => {
    guard.check(statement.name);
    return withFreshPlan(() => withClient((client) => runOn(client, statement, values)));
  };

  const ear = createPostgresEar({ url: options.listenUrl ?? options.url, log: options.log });
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
      return withRetries(() => once(work, begin));
    },
    listen: (channel, heard, regained) => ear.listen(channel, heard, regained),
    isListening: () => ear.isConnected(),
    notify: async (channel, payload) => void (await run({ name: "store.notify", text: "select pg_notify($1, $2)" }, [channel, payload])),
    ready: async () => void (await run({ name: "store.ready", text: "select 1" })),
    [Symbol.asyncDispose]: async () => {
      closing ??= Promise.all([ear.close(), pool.end()]).then(() => undefined);
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
