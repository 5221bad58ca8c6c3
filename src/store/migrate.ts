import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { statement, type Database, type Sql, type Transaction } from "./database.ts";

/** A module's migrations: `NNN-name.sql`, applied in the order of their numbers. */
export interface MigrationFolder {
  readonly module: string;
  readonly folder: URL;
}

export interface Migration {
  readonly module: string;
  readonly name: string;
  readonly text: string;
  /** SHA-256 of the text, hex. */
  readonly digest: string;
}

/** The database and the migrations of this program do not fit together. */
export class MigrationError extends Error {
  override readonly name = "MigrationError";
  /** sysexits.h: configuration. */
  readonly exitCode = 78;
}

const FILE_NAME = /^\d{3}-[a-z0-9-]+\.sql$/;

/** All migrations of the modules, modules in the order given, files in the order of their numbers. */
export const readMigrations = async (modules: readonly MigrationFolder[]): Promise<readonly Migration[]> => {
  const found: Migration[] = [];
  for (const { module, folder } of modules) {
    const names = (await readdir(folder)).filter((name) => name.endsWith(".sql")).sort();
    const numbers = new Set<string>();
    for (const name of names) {
      if (!FILE_NAME.test(name)) throw new MigrationError(`${module}/${name}: a migration is named like 001-name.sql`);
      if (numbers.has(name.slice(0, 3))) throw new MigrationError(`${module}/${name}: the number is used twice`);
      numbers.add(name.slice(0, 3));
      const text = await readFile(new URL(name, folder), "utf8");
      found.push({ module, name, text, digest: createHash("sha256").update(text).digest("hex") });
    }
  }
  return found;
};

const LOCK = statement("store.migration_lock", "select pg_advisory_xact_lock(7236128451)");
const APPLIED = statement<{ module: string; name: string; digest: string }>(
  "store.migrations_applied",
  "select room as module, name, digest from store.migration where room = any($1)",
);
const THERE = statement<{ there: boolean }>("store.has_table", "select to_regclass($1) is not null as there");
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
    await sql.run(RECORD, [migration.module, migration.name, migration.digest]);
  } catch (cause) {
    throw new MigrationError(`${migration.module}/${migration.name}: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
  }
};

const compare = async (sql: Sql, migrations: readonly Migration[], modules: readonly MigrationFolder[]) => {
  const applied = new Map<string, string>();
  for (const row of await sql.run(APPLIED, [modules.map(({ module }) => module)])) applied.set(`${row.module}/${row.name}`, row.digest);
  const missing: Migration[] = [];
  const issues: string[] = [];
  for (const migration of migrations) {
    const path = `${migration.module}/${migration.name}`;
    const digest = applied.get(path);
    applied.delete(path);
    if (digest === undefined) missing.push(migration);
    else if (digest !== migration.digest) issues.push(`${path} was changed after it had been applied; undo the change and add a new file`);
  }
  for (const path of applied.keys())
    issues.push(
      `${path} was applied to this database but this program does not have it: the database is of a newer version. Start that one, or go back to a copy from before`,
    );
  return { missing, issues };
};

/** Whether a table, `schema.name`, is there. */
export const hasTable = async (sql: Sql, name: string): Promise<boolean> => (await sql.run(THERE, [name]))[0]?.there === true;

/** Why the database does not fit this program; empty where it does, or was never prepared. Changes nothing. */
export const migrationIssues = async (sql: Sql, modules: readonly MigrationFolder[]): Promise<readonly string[]> =>
  (await hasTable(sql, "store.migration")) ? (await compare(sql, await readMigrations(modules), modules)).issues : [];

/**
 * Brings the database to what this program needs: every file once, all in one transaction, under a lock, so that several
 * processes may start at once. Files that were changed or removed after they had been applied are a `MigrationError`.
 * Returns the names of the files applied now.
 */
export const migrate = async (database: Database, modules: readonly MigrationFolder[]): Promise<readonly string[]> => {
  const migrations = await readMigrations(modules);
  return database.transaction(async (sql) => {
    await sql.run(LOCK);
    await sql.script(TABLE);
    const { missing, issues } = await compare(sql, migrations, modules);
    if (issues.length > 0) throw new MigrationError(issues.join("\n"));
    for (const migration of missing) await apply(sql, migration);
    return missing.map(({ module, name }) => `${module}/${name}`);
  });
};
