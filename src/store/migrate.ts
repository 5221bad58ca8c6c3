import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { statement, type Database, type Transaction } from "./database.ts";

/** A room's migrations: `NNN-name.sql`, applied in the order of their numbers. */
export interface MigrationFolder {
  readonly room: string;
  readonly folder: URL;
}

export interface Migration {
  readonly room: string;
  readonly name: string;
  readonly text: string;
  /** SHA-256 of the text, hex. */
  readonly digest: string;
}

/** The database and the migrations of this program do not fit together. */
export class MigrationFault extends Error {
  override readonly name = "MigrationFault";
}

const FILE_NAME = /^\d{3}-[a-z0-9-]+\.sql$/;

/** All migrations of the rooms, rooms in the order given, files in the order of their numbers. */
export const readMigrations = async (rooms: readonly MigrationFolder[]): Promise<readonly Migration[]> => {
  const found: Migration[] = [];
  for (const { room, folder } of rooms) {
    const names = (await readdir(folder)).filter((name) => name.endsWith(".sql")).sort();
    const numbers = new Set<string>();
    for (const name of names) {
      if (!FILE_NAME.test(name)) throw new MigrationFault(`${room}/${name}: a migration is named like 001-name.sql`);
      if (numbers.has(name.slice(0, 3))) throw new MigrationFault(`${room}/${name}: the number is used twice`);
      numbers.add(name.slice(0, 3));
      const text = await readFile(new URL(name, folder), "utf8");
      found.push({ room, name, text, digest: createHash("sha256").update(text).digest("hex") });
    }
  }
  return found;
};

const LOCK = statement("store.migration_lock", "select pg_advisory_xact_lock(7236128451)");
const APPLIED = statement<{ room: string; name: string; digest: string }>(
  "store.migrations_applied",
  "select room, name, digest from store.migration where room = any($1)",
);
const RECORD = statement("store.migration_record", "insert into store.migration (room, name, digest) values ($1, $2, $3)");
const TABLE = `
create schema if not exists store;
create table if not exists store.migration (
  room text not null,
  name text not null,
  digest text not null,
  applied_at timestamptz not null default now(),
  primary key (room, name)
)`;

const apply = async (sql: Transaction, migration: Migration): Promise<void> => {
  try {
    await sql.script(migration.text);
    await sql.run(RECORD, [migration.room, migration.name, migration.digest]);
  } catch (cause) {
    throw new MigrationFault(`${migration.room}/${migration.name}: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
  }
};

/**
 * Brings the database to what this program needs: every file once, all in one transaction, under a lock, so that several
 * processes may start at once. A file that was changed or removed after it had been applied is a `MigrationFault`.
 * Returns the names of the files applied now.
 */
export const migrate = async (database: Database, rooms: readonly MigrationFolder[]): Promise<readonly string[]> => {
  const migrations = await readMigrations(rooms);
  return database.transaction(async (sql) => {
    await sql.run(LOCK);
    await sql.script(TABLE);
    const applied = new Map<string, string>();
    for (const row of await sql.run(APPLIED, [rooms.map(({ room }) => room)])) applied.set(`${row.room}/${row.name}`, row.digest);
    const done: string[] = [];
    for (const migration of migrations) {
      const path = `${migration.room}/${migration.name}`;
      const digest = applied.get(path);
      applied.delete(path);
      if (digest === migration.digest) continue;
      if (digest !== undefined)
        throw new MigrationFault(`${path} was changed after it had been applied; undo the change and add a new file`);
      await apply(sql, migration);
      done.push(path);
    }
    const [unknown] = applied.keys();
    if (unknown !== undefined) throw new MigrationFault(`${unknown} was applied to this database but this program does not have it`);
    return done;
  });
};
