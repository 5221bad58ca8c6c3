import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { InstanceSecretError, parseSecret, readInstanceSecrets } from "./instance-secret.ts";

const folder = async (t: TestContext): Promise<string> => {
  const made = await mkdtemp(join(tmpdir(), "sallyport-secret-"));
  t.after(() => rm(made, { recursive: true, force: true }));
  return made;
};
const read = (
  dataFolder: string,
  environment: "dev" | "test" | "production" = "dev",
  given: readonly Uint8Array[] = [],
  isSealed = async (): Promise<boolean> => false,
) => readInstanceSecrets({ given, dataFolder, environment, isSealed });

test("the first start makes a secret, every later one reads it, and only its owner may", async (t) => {
  const data = await folder(t);
  const [first] = await read(data);
  assert.equal(first.length, 32);
  assert.deepEqual(await read(data), [first]);
  assert.equal((await stat(join(data, "keys", "instance"))).mode & 0o777, 0o600);
  assert.equal((await stat(join(data, "keys"))).mode & 0o777, 0o700);
  assert.deepEqual(await readdir(join(data, "keys")), ["instance"]);
});

test("two instances have two secrets", async (t) => {
  assert.notDeepEqual(await read(await folder(t)), await read(await folder(t)));
});

test("two that start together end up with one secret", async (t) => {
  const data = await folder(t);
  const all = await Promise.all(Array.from({ length: 8 }, () => read(data)));
  for (const one of all) assert.deepEqual(one, all[0]);
  assert.deepEqual(await read(data), all[0]);
  assert.deepEqual(await readdir(join(data, "keys")), ["instance"]);
});

test("a file that a copy opened to others is closed again", async (t) => {
  const data = await folder(t);
  await read(data);
  const path = join(data, "keys", "instance");
  await chmod(path, 0o644);
  await read(data);
  assert.equal((await stat(path)).mode & 0o777, 0o600);
});

test("a damaged secret stops the start with advice, and is neither replaced nor shown", async (t) => {
  const data = await folder(t);
  await read(data);
  const path = join(data, "keys", "instance");
  await writeFile(path, "c2hvcnQ=\n");
  await assert.rejects(
    read(data),
    (error) => error instanceof InstanceSecretError && error.message.includes(path) && !error.message.includes("c2hvcnQ"),
  );
  assert.equal(await readFile(path, "utf8"), "c2hvcnQ=\n");
});

test("secrets that are given win and no file is made; production takes no other", async (t) => {
  const data = await folder(t);
  const given = [new Uint8Array(32).fill(1), new Uint8Array(32).fill(2)];
  assert.deepEqual(await read(data, "production", given), given);
  assert.deepEqual(await readdir(data), []);
  await assert.rejects(
    read(data, "production"),
    (error) => error instanceof InstanceSecretError && error.message.includes("SESSION_SECRETS"),
  );
  assert.deepEqual(await readdir(data), []);
});

test("a secret is base64 or base64url of exactly 32 bytes", () => {
  const bytes = Buffer.alloc(32, 0xfb);
  assert.deepEqual(parseSecret(bytes.toString("base64")), bytes);
  assert.deepEqual(parseSecret(bytes.toString("base64url")), bytes);
  for (const wrong of [
    "",
    "abc",
    bytes.subarray(1).toString("base64"),
    Buffer.alloc(33).toString("base64"),
    `${bytes.toString("base64")}x`,
    "!".repeat(43),
  ])
    assert.equal(parseSecret(wrong), undefined, wrong);
});

test("a secret that is missing beside what it sealed is never made anew unasked", async (t) => {
  const data = await folder(t);
  const sealed = async (): Promise<boolean> => true;
  await assert.rejects(
    read(data, "dev", [], sealed),
    (error) =>
      error instanceof InstanceSecretError && error.message.includes(join(data, "keys", "instance")) && error.message.includes("openssl"),
  );
  await assert.rejects(readdir(join(data, "keys")), { code: "ENOENT" });
  await mkdir(join(data, "keys"));
  await writeFile(join(data, "keys", "instance"), randomBytes(32).toString("base64"));
  assert.equal((await read(data, "dev", [], sealed))[0].length, 32);
});
