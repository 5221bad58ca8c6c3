import type { TestContext } from "node:test";
import pg from "pg";
import { statement, type Database, type StoreLog } from "#store/database.ts";
import { migrate, type MigrationFolder } from "#store/migrate.ts";
import { createPostgres } from "#store/postgres.ts";
import { cleanUp } from "./clean-up.ts";
import { readFirstState, restoreFirstState, type FirstState } from "./first-state.ts";
import { migrationFolders, schemaDigest, type Modules } from "./schema.ts";
import { startPostgresServer, type PostgresServer } from "./postgres-server.ts";
import { atEndOfProcess } from "./shared.ts";

const log: StoreLog = { info: () => {}, warn: () => {}, error: () => {} };

/** Where databases may be made: `TEST_POSTGRES_URL`, or a server started for this process with the first test that asks. */
export interface TestServer {
  /** undefined = none can be had; `why` says why not. */
  url(): Promise<string | undefined>;
  why(): string;
}

/** It stops the server after the last test of the process. */
export const testServer = (): TestServer => {
  const given = process.env["TEST_POSTGRES_URL"];
  let starting: Promise<PostgresServer | undefined> | undefined;
  let issue = "";
  if (given === undefined) atEndOfProcess(async () => (await starting)?.stop());
  return {
    url: async () => {
      if (given !== undefined) return given;
      starting ??= startPostgresServer().catch((error: unknown) => {
        issue = error instanceof Error ? error.message : String(error);
        return undefined;
      });
      return (await starting)?.url;
    },
    why: () => issue,
  };
};

const maintenance = new Map<string, pg.Pool>();
/** For what is done to whole databases: one connection a process and server, for each costs the server a process of its own. */
const withMaintenance = async <T>(url: string, work: (client: pg.PoolClient) => Promise<T>): Promise<T> => {
  const pool = maintenance.get(url) ?? new pg.Pool({ connectionString: url, max: 1, allowExitOnIdle: true });
  if (!maintenance.has(url)) {
    maintenance.set(url, pool);
    // A server that is gone is told of to whoever asks next.
    pool.on("error", () => {});
    atEndOfProcess(() => pool.end());
  }
  const client = await pool.connect();
  let isDone = false;
  try {
    const result = await work(client);
    isDone = true;
    return result;
  } finally {
    // What failed half-way is closed with all that it holds.
    client.release(!isDone);
  }
};

export const urlOf = (server: string, name: string): string => {
  const url = new URL(server);
  url.pathname = `/${name}`;
  return url.href;
};

const templateName = (digest: string): string => `template_${digest}`;

const makeTemplate = (url: string, name: string, folders: readonly MigrationFolder[]): Promise<void> =>
  withMaintenance(url, async (client) => {
    await client.query("select pg_advisory_lock(hashtext($1))", [name]);
    await client.query(IDLE);
    const { rowCount } = await client.query("select 1 from pg_database where datname = $1", [name]);
    if (rowCount !== 1) {
      const draft = `draft_${crypto.randomUUID().replaceAll("-", "")}`;
      await client.query(`create database ${draft}`);
      const database = await createPostgres({ url: urlOf(url, draft), poolSize: 1, log });
      try {
        await migrate(database, folders);
      } finally {
        await database[Symbol.asyncDispose]();
      }
      // Only a finished one gets the name; sessions that are still closing would refuse the renaming.
      await client.query("select pg_terminate_backend(pid) from pg_stat_activity where datname = $1", [draft]);
      await client.query(`alter database ${draft} rename to ${name}`);
    }
    await client.query("select pg_advisory_unlock(hashtext($1))", [name]);
  });

const templates = new Map<string, Promise<void>>();
/** Name of a migrated database to copy from: made once a server and schema, whichever process comes first. */
const template = async (url: string, modules: Modules): Promise<string> => {
  const name = templateName(await schemaDigest(modules));
  const at = urlOf(url, name);
  const made = templates.get(at) ?? makeTemplate(url, name, migrationFolders(modules));
  templates.set(at, made);
  await made.catch((error: unknown) => {
    // The next test tries anew.
    templates.delete(at);
    throw error;
  });
  return name;
};

const IDLE = "create table if not exists idle_databases (name text primary key, schema text not null, first jsonb not null)";

interface Lent {
  readonly name: string;
  readonly first: FirstState;
}

/** One that a test has given back, whichever process it ran in; else a copy of the template. */
const borrow = async (url: string, modules: Modules): Promise<Lent> => {
  const from = await template(url, modules);
  return withMaintenance(url, async (client) => {
    const { rows } = await client.query<Lent>(
      `delete from idle_databases where name = (select name from idle_databases where schema = $1 limit 1 for update skip locked)
       returning name, first`,
      [from],
    );
    if (rows[0] !== undefined) return rows[0];
    const name = `test_${crypto.randomUUID().replaceAll("-", "")}`;
    await client.query(`create database ${name} template ${from}`);
    await using database = await createPostgres({ url: urlOf(url, name), poolSize: 1, log });
    return { name, first: await readFirstState(database) };
  });
};

/** Whether nobody works on it any more and it is again as its migrations left it. */
const isFirstAgain = async (url: string, { name, first }: Lent): Promise<boolean> => {
  await using database = await createPostgres({ url: urlOf(url, name), poolSize: 1, log });
  const others = "select 1 as one from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()";
  if ((await database.run(statement("testing.others", others))).length > 0) return false;
  // Awaited here: the connection is closed as soon as this returns.
  return await restoreFirstState(database, first);
};

const giveBack = async (url: string, schema: string, lent: Lent): Promise<void> => {
  const isFit = await isFirstAgain(url, lent).catch(() => false);
  await withMaintenance(url, async (client) => {
    if (isFit) await client.query("insert into idle_databases (name, schema, first) values ($1, $2, $3)", [lent.name, schema, lent.first]);
    else await client.query(`drop database if exists ${lent.name} with (force)`);
  });
};

/** A fresh migrated database on the server; its url. Given back, or dropped, when the test ends. */
export const freshDatabase = async (t: Pick<TestContext, "after">, url: string, modules: Modules): Promise<string> => {
  const lent = await borrow(url, modules);
  const schema = templateName(await schemaDigest(modules));
  cleanUp(t, () => giveBack(url, schema, lent));
  return urlOf(url, lent.name);
};

export const openPostgres = (url: string): Promise<Database> => createPostgres({ url, poolSize: 5, log });
