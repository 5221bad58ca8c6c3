import assert from "node:assert/strict";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test from "node:test";
import { startChild } from "#testing/child.ts";
import { cleanUp } from "#testing/clean-up.ts";
import { DataFolderLocked, holdDataFolder } from "./data-folder-lock.ts";

const folderOf = async (t: test.TestContext): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), "sallyport-lock-"));
  cleanUp(t, () => rm(folder, { recursive: true, force: true }));
  return folder;
};

const write = (folder: string, text: string): Promise<void> => writeFile(join(folder, "lock"), text);

test("the lock names its holder, and releasing removes it", async (t) => {
  const folder = await folderOf(t);
  const lock = await holdDataFolder(folder);
  const held = JSON.parse(await readFile(join(folder, "lock"), "utf8")) as Record<string, unknown>;
  assert.equal(held["pid"], process.pid);
  await assert.rejects(holdDataFolder(folder), DataFolderLocked);
  await lock.release();
  assert.deepEqual(await readdir(folder), []);
});

test("a lock is stale when its process is gone, began later than the lock, or cannot be read", async (t) => {
  const child = startChild("");
  await child.ended();
  const now = new Date().toISOString();
  const stale = {
    "a process that is gone": JSON.stringify({ pid: child.process.pid, nonce: "n", startedAt: now }),
    "an id that was used again, as after a restart": JSON.stringify({
      pid: process.pid,
      nonce: "n",
      startedAt: "2020-01-01T00:00:00.000Z",
    }),
    "the parent's id, taken before the parent began": JSON.stringify({
      pid: process.ppid,
      nonce: "n",
      startedAt: "2001-01-01T00:00:00.000Z",
    }),
    "half a file": '{"pid": 1',
    "an empty file": "",
  };
  for (const [name, text] of Object.entries(stale)) {
    const folder = await folderOf(t);
    await write(folder, text);
    const lock = await holdDataFolder(folder);
    const held = JSON.parse(await readFile(join(folder, "lock"), "utf8")) as Record<string, unknown>;
    assert.equal(held["pid"], process.pid, name);
    assert.deepEqual(await readdir(folder), ["lock"], name);
    await lock.release();
  }
});

test("a living process that began before the lock holds it", async (t) => {
  const folder = await folderOf(t);
  await write(folder, JSON.stringify({ pid: process.ppid, nonce: "n", startedAt: new Date().toISOString() }));
  await assert.rejects(holdDataFolder(folder), { pid: process.ppid });
});

test("releasing does not remove a lock that meanwhile belongs to somebody else", async (t) => {
  const folder = await folderOf(t);
  const lock = await holdDataFolder(folder);
  await write(folder, JSON.stringify({ pid: 1, nonce: "other", startedAt: new Date().toISOString() }));
  await lock.release();
  assert.deepEqual(await readdir(folder), ["lock"]);
});

test("of many that start at once on a stale lock exactly one gets it", async (t) => {
  const folder = await folderOf(t);
  await write(folder, JSON.stringify({ pid: 2 ** 22 + 1, nonce: "n", startedAt: "2020-01-01T00:00:00.000Z" }));
  const results = await Promise.allSettled(Array.from({ length: 20 }, () => holdDataFolder(folder)));
  assert.equal(results.filter((result) => result.status === "fulfilled").length, 1);
  assert.deepEqual(await readdir(folder), ["lock"]);
});
