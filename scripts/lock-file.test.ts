import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { copyFile, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";

const root = join(import.meta.dirname, "..");

test("npm ci takes the lockfile of a fresh clone, with and without what only development needs", async (t) => {
  const clone = await mkdtemp(join(tmpdir(), "sallyport-clone-"));
  t.after(() => rm(clone, { recursive: true, force: true }));
  for (const file of ["package.json", "package-lock.json", ".npmrc"]) await copyFile(join(root, file), join(clone, file));
  for (const options of [[], ["--omit=dev"]])
    // Nothing is fetched: what npm refuses, it refuses by the files alone.
    await promisify(execFile)("npm", ["ci", "--dry-run", "--offline", ...options], { cwd: clone, shell: process.platform === "win32" });
});

test("the lockfile names no registry, so that any may serve it", async () => {
  const { packages } = JSON.parse(await readFile(join(root, "package-lock.json"), "utf8")) as { packages: Record<string, object> };
  assert.deepEqual(
    Object.entries(packages).filter(([, entry]) => "resolved" in entry),
    [],
  );
});
