import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { Problem } from "#contract/problem.ts";
import { startChild } from "#testing/child.ts";
import { cleanUp } from "#testing/clean-up.ts";
import { snapshotOf } from "#testing/database.ts";
import { DataFolderLocked } from "./data-folder-lock.ts";
import { statement, type StoreLog } from "./database.ts";
import { FolderError } from "./make-folder.ts";
import { createPglite } from "./pglite.ts";

const log: StoreLog = { info: () => {}, warn: () => {}, error: () => {} };
const COUNT = statement<{ n: bigint }>("t.count", "select count(*) as n from kept");

const folderOf = async (t: test.TestContext): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), "sallyport-pglite-"));
  cleanUp(t, () => rm(folder, { recursive: true, force: true }));
  return folder;
};

/** Opens the folder, prints how many rows it holds, then adds rows for ever and prints each that was acknowledged. */
const writer = (folder: string): string => `
  const { createPglite } = await import(new URL("store/pglite.ts", src));
  const log = { info() {}, warn() {}, error() {} };
  const database = await createPglite({ dataFolder: ${JSON.stringify(folder)}, log });
  await database.script("create table if not exists kept (n int)");
  console.log("open");
  for (let n = 1; ; n++) {
    await database.run({ name: "t.add", text: "insert into kept values ($1)" }, [n]);
    console.log(n);
  }
`;

test(
  "what was acknowledged survives the killing of the process, and its lock does not stand in the way",
  { timeout: 60_000 },
  async (t) => {
    const folder = await folderOf(t);
    const child = startChild(writer(folder));
    cleanUp(t, () => child.kill());
    assert.equal(await child.line(), "open");
    await assert.rejects(createPglite({ dataFolder: folder, log }), (error: unknown) => {
      assert.ok(error instanceof DataFolderLocked);
      assert.equal(error.pid, child.process.pid);
      assert.match(error.message, new RegExp(`process with id ${child.process.pid}\\b`));
      return true;
    });
    let acknowledged = 0;
    while (acknowledged < 100) acknowledged = Number(await child.line());
    await child.kill();
    assert.ok(existsSync(join(folder, "lock")), "the killed process left its lock");

    const database = await createPglite({ dataFolder: folder, log });
    assert.ok((await database.run(COUNT))[0]!.n >= BigInt(acknowledged));
    await database[Symbol.asyncDispose]();
    assert.ok(!existsSync(join(folder, "lock")), "a clean end removes it");
  },
);

test("the same folder cannot be opened twice in one process either", { timeout: 60_000 }, async (t) => {
  const folder = await folderOf(t);
  const database = await createPglite({ dataFolder: folder, log });
  await assert.rejects(createPglite({ dataFolder: folder, log }), DataFolderLocked);
  await database.ready();
  await database[Symbol.asyncDispose]();
  const again = await createPglite({ dataFolder: folder, log });
  await again[Symbol.asyncDispose]();
});

test("a transaction that asks nothing for too long is ended, and the others go on", async (t) => {
  const database = await createPglite({ memory: true, log, idleInTransactionMs: 100, snapshot: await snapshotOf([]) });
  cleanUp(t, () => database[Symbol.asyncDispose]());
  await database.script("create table kept (n int)");
  const add = statement("t.add", "insert into kept values (1)");
  const lost = database.transaction(async (sql) => {
    await sql.run(add);
    await sleep(400);
    await sql.run(add);
  });
  const others = Promise.all([database.run(COUNT), database.transaction((sql) => sql.run(COUNT))]);
  await assert.rejects(lost, (error: unknown) => error instanceof Problem && error.code === "store_unavailable");
  const [single, inside] = await others;
  assert.equal(single[0]?.n, 0n);
  assert.equal(inside[0]?.n, 0n);
  await database.transaction((sql) => sql.run(add));
  assert.equal((await database.run(COUNT))[0]?.n, 1n);
});

test("statements of other callers never fall into an open transaction", async (t) => {
  const database = await createPglite({ memory: true, log, snapshot: await snapshotOf([]) });
  cleanUp(t, () => database[Symbol.asyncDispose]());
  await database.script("create table kept (n int)");
  const add = statement("t.add", "insert into kept values ($1)");
  const rollBack = database
    .transaction(async (sql) => {
      await sql.run(add, [0]);
      await sleep(20);
      await sql.run(add, [0]);
      throw new Error("no");
    })
    .catch(() => undefined);
  await Promise.all([rollBack, ...Array.from({ length: 50 }, () => database.run(add, [1]))]);
  assert.equal((await database.run(COUNT))[0]?.n, 50n);
});

test("a queue that is always emptied does not grow for ever", async (t) => {
  const database = await createPglite({ memory: true, log, upkeepEveryMs: 20, snapshot: await snapshotOf([]) });
  cleanUp(t, () => database[Symbol.asyncDispose]());
  await database.script("create table kept (n int, filling text)");
  const size = statement<{ bytes: bigint }>("t.size", "select pg_relation_size('kept') as bytes");
  await database.run(statement("t.fill", "insert into kept select n, repeat('x', 500) from generate_series(1, 5000) as n"));
  await database.run(statement("t.empty", "delete from kept"));
  const deadline = Date.now() + 10_000;
  while ((await database.run(size))[0]!.bytes > 0n) {
    assert.ok(Date.now() < deadline, "nobody cleared up");
    await sleep(10);
  }
});

test("the write-ahead log does not grow for ever", async (t) => {
  const database = await createPglite({ memory: true, log, upkeepEveryMs: 20, snapshot: await snapshotOf([]) });
  cleanUp(t, () => database[Symbol.asyncDispose]());
  await database.script("create table kept (n int, filling text); alter table kept alter column filling set storage external");
  const fill = statement("t.fill", "insert into kept select n, repeat('x', 1000) from generate_series(1, 1000) as n");
  const behind = statement<{ bytes: bigint }>(
    "t.behind",
    "select pg_wal_lsn_diff(pg_current_wal_lsn(), redo_lsn)::bigint as bytes from pg_control_checkpoint()",
  );
  let written = 0n;
  for (let last = 0n, n = 0; n < 60; n++) {
    await database.run(fill);
    const [log] = await database.run(behind);
    written += log!.bytes > last ? log!.bytes - last : 0n;
    last = log!.bytes;
  }
  assert.ok(written > 32n * 1_048_576n, `${written} bytes were written`);
  const deadline = Date.now() + 10_000;
  while ((await database.run(behind))[0]!.bytes > 16n * 1_048_576n) {
    assert.ok(Date.now() < deadline, "no checkpoint was made");
    await sleep(10);
  }
});

test("a folder that holds something else, or another version, is refused by name and stays as it is", async (t) => {
  for (const [files, says] of [
    [{ base: "rows" }, /has no PG_VERSION/],
    [{ base: "rows", PG_VERSION: "17\n" }, /PG_VERSION is "17", not 18/],
    [{ PG_VERSION: "18\n" }, /Nothing of it was removed or repaired/],
  ] as const) {
    const folder = await folderOf(t);
    const inside = join(folder, "pg");
    await mkdir(inside);
    for (const [name, text] of Object.entries(files)) await writeFile(join(inside, name), text);
    await assert.rejects(createPglite({ dataFolder: folder, log }), (error: unknown) => {
      assert.ok(error instanceof FolderError);
      assert.match(error.message, says);
      assert.ok(error.message.startsWith(`The embedded database in ${inside} cannot be opened: `));
      return true;
    });
    for (const [name, text] of Object.entries(files)) assert.equal(await readFile(join(inside, name), "utf8"), text);
    assert.deepEqual(await readdir(folder), ["lock.db", "pg"], "and the folder is free for the next start");
  }
});

test("a first opening that was cut short is begun anew, and one that was not is never", async (t) => {
  const folder = await folderOf(t);
  await mkdir(join(folder, "pg"));
  await writeFile(join(folder, "pg/postgresql.conf"), "half a file");
  await writeFile(join(folder, "pg.unfinished"), "");
  const first = await createPglite({ dataFolder: folder, log });
  assert.ok(!existsSync(join(folder, "pg.unfinished")));
  assert.equal(await readFile(join(folder, "pg.cut-short/postgresql.conf"), "utf8"), "half a file", "set aside, not removed");
  await first.script("create table kept (n int); insert into kept values (1)");
  await first[Symbol.asyncDispose]();
  const second = await createPglite({ dataFolder: folder, log });
  assert.equal((await second.run(COUNT))[0]!.n, 1n);
  await second[Symbol.asyncDispose]();
});
