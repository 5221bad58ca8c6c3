import test, { type TestContext } from "node:test";
import { execFile } from "node:child_process";
import { mkdir, readdir, readFile, rename, rm, stat, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { Database, StoreLog } from "#store/database.ts";
import { migrate, type MigrationFolder } from "#store/migrate.ts";
import { createPglite } from "#store/pglite.ts";
import { cleanUp } from "./clean-up.ts";
import { borrowDatabase } from "./embedded-pool.ts";
import { freshDatabase, openPostgres, testServer, type TestServer } from "./postgres-database.ts";
import { migrationFolders, schemaDigest, type Modules } from "./schema.ts";

export type { Modules } from "./schema.ts";

const CACHE = fileURLToPath(new URL("../../.cache/test-database/", import.meta.url));
/** More than there are sets of modules in all tests: where one run makes more than are kept, the next finds none of them. */
const MAX_SNAPSHOTS = 32;

/** PostgreSQL copies new databases from these; no test makes one inside of the embedded database, and they are half of what each start of it reads. */
const dropTemplates = ["update pg_database set datistemplate = false", "drop database template1", "drop database template0"];

const log: StoreLog = { info: () => {}, warn: () => {}, error: () => {} };

const forgetOld = async (): Promise<void> => {
  const files = await Promise.all(
    (await readdir(CACHE)).map(async (name) => ({ name, at: (await stat(`${CACHE}${name}`).catch(() => undefined))?.mtimeMs ?? 0 })),
  );
  const old = files.sort((one, other) => other.at - one.at).slice(MAX_SNAPSHOTS);
  await Promise.all(old.map(({ name }) => rm(`${CACHE}${name}`, { force: true })));
};

/**
 * A data folder with these migrations applied, as a tar in `.cache/`: making it takes seconds, starting from it half of
 * one. The name holds the digest of the migrations, so a changed migration makes a new one.
 */
export const snapshotOf = async (folders: readonly MigrationFolder[]): Promise<string> => {
  const file = `${CACHE}${await schemaDigest(folders)}-alone.tar`;
  const now = new Date();
  const cached = await utimes(file, now, now).then(
    () => true,
    () => false,
  );
  if (cached) return file;
  const database = await createPglite({ memory: true, log, ...(folders.length === 0 ? {} : { snapshot: await snapshotOf([]) }) });
  try {
    if (folders.length > 0) await migrate(database, folders);
    else for (const text of dropTemplates) await database.script(text);
    const dump = await database.dump();
    await mkdir(CACHE, { recursive: true });
    const draft = `${file}.${process.pid}.${Math.random().toString(36).slice(2)}`;
    await writeFile(draft, dump.stream());
    await rename(draft, file);
    await forgetOld();
    return file;
  } finally {
    await database[Symbol.asyncDispose]();
  }
};

/**
 * Lays an embedded database with the migrations of these modules, and no more, into a data folder that has none yet: half of the processor time
 * of a first start is spent on that.
 */
export const layDatabase = async (dataFolder: string, modules: Modules): Promise<void> => {
  const folder = join(dataFolder, "pg");
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const tar = ["--no-same-owner", "--no-same-permissions", "-xf", await snapshotOf(migrationFolders(modules)), "-C", folder];
  await promisify(execFile)("tar", tar);
};

/** Of the language, but not among the types of Node. */
declare const WebAssembly: { compile(program: Uint8Array): Promise<object> };
let program: Promise<object> | undefined;
/** The embedded database is compiled once a process: threads find what others have compiled of a program as long as somebody holds it. */
const holdProgram = (): Promise<object> =>
  (program ??= readFile(new URL("pglite.wasm", import.meta.resolve("@electric-sql/pglite"))).then((file) => WebAssembly.compile(file)));

/**
 * A fresh embedded database with the migrations of these modules; closed when the test ends. It computes on the thread of the test, for a tenth
 * less of processor time in all; Sallyport has it in a thread of its own, and both pass the same contract.
 */
export const testDatabase = async (
  t: Pick<TestContext, "after">,
  modules: Modules,
  thread: "own" | "caller" = "caller",
): Promise<Database> => {
  const database = await borrowDatabase(`${await schemaDigest(modules)} ${thread}`, async () => {
    await holdProgram();
    return createPglite({ memory: true, log, snapshot: await snapshotOf(migrationFolders(modules)), thread });
  });
  cleanUp(t, () => database[Symbol.asyncDispose]());
  return database;
};

/** What a test over both adapters is given beside its database. */
export interface EachDatabase {
  /** Opens a second connection to the same data, as another process would; undefined on the embedded database. */
  readonly second: (() => Promise<Database>) | undefined;
}

let server: TestServer | undefined;

/** Of a test that takes its time. */
interface TestMore {
  readonly timeout?: number;
}

/** Declares a test that needs PostgreSQL and is given the url of a fresh migrated database. See `forEachDatabase`. */
export const forPostgres = (
  name: string,
  modules: Modules,
  work: (t: TestContext, url: string) => void | Promise<void>,
  more: TestMore = {},
): void => {
  // One server for all tests of a file; it is stopped after the last of them.
  server ??= testServer();
  const { url, why } = server;
  void test(name, more, async (t) => {
    const address = await url();
    if (address !== undefined) return work(t, await freshDatabase(t, address, modules));
    if (process.env["REQUIRE_REAL"] === "1") throw new Error(`PostgreSQL is required: ${why()}`);
    process.stderr.write(`SKIPPED, no PostgreSQL: ${name}: ${why()}\n`);
    t.skip(why());
  });
};

/**
 * Declares the test twice: on the embedded database and on PostgreSQL. Without a PostgreSQL server the second is skipped
 * by name, loudly; with `REQUIRE_REAL=1` it fails instead.
 */
export const forEachDatabase = (
  name: string,
  modules: Modules,
  work: (t: TestContext, database: Database, more: EachDatabase) => void | Promise<void>,
  more: TestMore = {},
): void => {
  void test(`${name} (embedded)`, more, async (t) => work(t, await testDatabase(t, modules), { second: undefined }));
  const onServer = async (t: TestContext, url: string): Promise<void> => {
    const open = async (): Promise<Database> => {
      const opened = await openPostgres(url);
      cleanUp(t, () => opened[Symbol.asyncDispose]());
      return opened;
    };
    await work(t, await open(), { second: open });
  };
  forPostgres(`${name} (PostgreSQL)`, modules, onServer, more);
};
