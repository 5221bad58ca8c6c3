import assert from "node:assert/strict";
import { chmod, mkdtemp, readdir, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { cleanUp } from "#testing/clean-up.ts";
import { holdDataFolder } from "./data-folder-lock.ts";
import { FolderError, folderObstacle, makeFolder } from "./make-folder.ts";

const folderOf = async (t: TestContext): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), "sallyport-folder-"));
  cleanUp(t, () => rm(folder, { recursive: true, force: true }));
  return folder;
};

test("a folder is made with all above it, for its owner alone, also by many at once", async (t) => {
  const folder = await folderOf(t);
  const deep = join(folder, "a/b/c");
  assert.equal(await folderObstacle(deep), undefined);
  assert.deepEqual(await readdir(folder), [], "a look makes nothing");
  await Promise.all(Array.from({ length: 10 }, () => makeFolder(deep)));
  for (const path of ["a", "a/b", "a/b/c"]) assert.equal((await stat(join(folder, path))).mode & 0o777, 0o700);
  await makeFolder(deep);
});

test("what stands in the way of a folder is said in one sentence with its path", async (t) => {
  const folder = await folderOf(t);
  const file = join(folder, "file");
  await writeFile(file, "kept");
  const long = join(folder, "x".repeat(300));
  for (const [path, why] of [
    [file, `${file} is no folder`],
    [join(file, "below"), `${file} is no folder`],
    [long, "its name is too long"],
  ] as const) {
    assert.equal(await folderObstacle(path), why);
    const message = `The folder ${path} cannot be made: ${why}.`;
    await assert.rejects(makeFolder(path), (error: unknown) => error instanceof FolderError && error.message === message);
  }
});

test(
  "a folder that this user may not write in is said as such",
  { skip: process.getuid?.() === 0 && "root may write anywhere" },
  async (t) => {
    const folder = await folderOf(t);
    await chmod(folder, 0o500);
    await assert.rejects(makeFolder(join(folder, "below")), { message: new RegExp(`this user may not write in ${folder}\\.$`) });
    await assert.rejects(holdDataFolder(folder), { message: new RegExp(`this user may not write in ${folder}\\.`) });
  },
);

test(
  "a place where the system makes no folders is refused, and not tried for ever",
  { skip: process.platform !== "linux", timeout: 30_000 },
  async () => {
    for (const path of ["/proc/nope/x", "/sys/nope/x"]) {
      assert.match((await folderObstacle(path)) ?? "", /^the system keeps no files in \/(?:proc|sys)$/);
      await assert.rejects(makeFolder(path), FolderError);
    }
    await assert.rejects(holdDataFolder("/proc"), {
      message: "The data folder /proc cannot be used: the system keeps no files in /proc. Choose another one with --data.",
    });
  },
);
