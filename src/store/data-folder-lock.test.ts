import assert from "node:assert/strict";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test from "node:test";
import { fileURLToPath } from "node:url";
import { startChild } from "#testing/child.ts";
import { cleanUp } from "#testing/clean-up.ts";
import { DataFolderLocked, holdDataFolder } from "./data-folder-lock.ts";

const folderOf = async (t: test.TestContext): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), "sallyport-lock-"));
  cleanUp(t, () => rm(folder, { recursive: true, force: true }));
  return folder;
};

const module = fileURLToPath(new URL("./data-folder-lock.ts", import.meta.url));
/** A process that takes the folder and says so, or says that it could not; then it waits to be killed. */
const taker = (folder: string) =>
  startChild(`
    import { holdDataFolder } from ${JSON.stringify(module)};
    await holdDataFolder(${JSON.stringify(folder)}).then(
      () => console.log("held"),
      (error) => console.log(error.name),
    );
    setInterval(() => {}, 1000);
  `);

test("the lock names its holder, and releasing frees the folder", async (t) => {
  const folder = await folderOf(t);
  const lock = await holdDataFolder(folder);
  const held = JSON.parse(await readFile(join(folder, "lock"), "utf8")) as Record<string, unknown>;
  assert.equal(held["pid"], process.pid);
  await assert.rejects(holdDataFolder(folder), (error) => error instanceof DataFolderLocked && error.pid === process.pid);
  await lock.release();
  await lock.release();
  assert.deepEqual(await readdir(folder), ["lock.db"]);
  await (await holdDataFolder(folder)).release();
});

test("a note without a lock holds nothing, whatever it says", async (t) => {
  for (const text of [JSON.stringify({ pid: process.ppid }), '{"pid": 1', ""]) {
    const folder = await folderOf(t);
    await writeFile(join(folder, "lock"), text);
    await (await holdDataFolder(folder)).release();
  }
});

test("a killed holder's lock ends with it", async (t) => {
  const folder = await folderOf(t);
  const child = taker(folder);
  cleanUp(t, () => child.kill());
  assert.equal(await child.line(), "held");
  await assert.rejects(holdDataFolder(folder), { pid: child.process.pid });
  await child.kill();
  await (await holdDataFolder(folder)).release();
});

test("of many that start at once where one was killed exactly one gets the folder", async (t) => {
  const folder = await folderOf(t);
  const first = taker(folder);
  cleanUp(t, () => first.kill());
  assert.equal(await first.line(), "held");
  await first.kill();
  const children = Array.from({ length: 6 }, () => taker(folder));
  for (const child of children) cleanUp(t, () => child.kill());
  const said = await Promise.all(children.map((child) => child.line()));
  assert.deepEqual(said.toSorted(), [...Array.from({ length: 5 }, () => "DataFolderLocked"), "held"]);
});

test("of many in one process exactly one gets the folder", async (t) => {
  const folder = await folderOf(t);
  const results = await Promise.allSettled(Array.from({ length: 20 }, () => holdDataFolder(folder)));
  assert.equal(results.filter((result) => result.status === "fulfilled").length, 1);
  for (const result of results) if (result.status === "fulfilled") await result.value.release();
});
