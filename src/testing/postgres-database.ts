import { after } from "node:test";
import type { TestContext } from "node:test";
import pg from "pg";
import type { Database, StoreLog } from "#store/database.ts";
import { migrate } from "#store/migrate.ts";
import { createPostgres } from "#store/postgres.ts";
import { cleanUp } from "./clean-up.ts";
import { migrationFolders, schemaDigest, type Rooms } from "./schema.ts";
import { startPostgresServer, type PostgresServer } from "./postgres-server.ts";

const log: StoreLog = { info: () => {}, warn: () => {}, error: () => {} };

/** Where databases may be made: `TEST_POSTGRES_URL`, or a server started for this process with the first test that asks. */
export interface TestServer {
  /** undefined = none can be had; `why` says why not. */
  url(): Promise<string | undefined>;
  why(): string;
}

/** Call it while the file's tests are being declared: it stops the server after the last of them. */
export const testServer = (): TestServer => {
  const given = process.env["TEST_POSTGRES_URL"];
  let starting: Promise<PostgresServer | undefined> | undefined;
  let fault = "";
  if (given === undefined) after(async () => (await starting)?.stop());
  return {
    url: async () => {
      if (given !== undefined) return given;
      starting ??= startPostgresServer().catch((error: unknown) => {
        fault = error instanceof Error ? error.message : String(error);
        return undefined;
      });
      return (await starting)?.url;
    },
    why: () => fault,
  };
};

const withMaintenance = async <T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> => {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
};

export const urlOf = (server: string, name: string): string => {
  const url = new URL(server);
  url.pathname = `/${name}`;
  return url.href;
};

/** A migrated database to copy from: made once a server and schema, whichever process comes first. */
const template = async (url: string, rooms: Rooms): Promise<string> => {
  const folders = migrationFolders(rooms);
  const name = `template_${await schemaDigest(folders)}`;
  await withMaintenance(url, async (client) => {
    await client.query("select pg_advisory_lock(hashtext($1))", [name]);
    const { rowCount } = await client.query("select 1 from pg_database where datname = $1", [name]);
    if (rowCount === 1) return;
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
  });
  return name;
};

/** A fresh migrated database on the server; its url. Dropped when the test ends. */
export const freshDatabase = async (t: Pick<TestContext, "after">, url: string, rooms: Rooms): Promise<string> => {
  const from = await template(url, rooms);
  const name = `test_${crypto.randomUUID().replaceAll("-", "")}`;
  await withMaintenance(url, (client) => client.query(`create database ${name} template ${from}`));
  cleanUp(t, () => withMaintenance(url, (client) => client.query(`drop database if exists ${name} with (force)`)));
  return urlOf(url, name);
};

export const openPostgres = (url: string): Promise<Database> => createPostgres({ url, poolSize: 5, log });
