import assert from "node:assert/strict";
import { createHmac, randomBytes } from "node:crypto";
import { mkdtemp, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test from "node:test";
import { cleanUp } from "#testing/clean-up.ts";
import { forEachDatabase } from "#testing/database.ts";
import { statement, type Sql } from "#store/database.ts";
import { keyEncryptionKey } from "./key-encryption-key.ts";
import { createReferences } from "./references.ts";

const now = (): Date => new Date("2026-11-21T04:00:00Z");
const keep = { remember: true };

forEachDatabase("a person has one reference a tenant, and nobody can link two of them", ["events"], async (_t, database) => {
  const kek = randomBytes(32);
  const references = createReferences(kek, now);
  const people = new Set(["person:ben", "person:cleo"]);
  const acme = await references.resolve(database, "tenant:acme", people, keep);
  const globex = await references.resolve(database, "tenant:globex", people, keep);
  const all = [...acme.values(), ...globex.values()].map(({ ref }) => ref);
  assert.equal(new Set(all).size, 4);
  for (const ref of all) assert.match(ref, /^sr1\.[A-Za-z0-9_-]{22}$/);
  // Another process, which remembers nothing, reads the same.
  const elsewhere = await createReferences(kek, now).resolve(database, "tenant:acme", people, keep);
  assert.deepEqual([...elsewhere].map(([id, { ref }]) => [id, ref]).sort(), [...acme].map(([id, { ref }]) => [id, ref]).sort());
  // Without the key nobody computes it from the id.
  const guess = createHmac("sha256", kek).update("subject_ref/v1\0tenant:acme\0person:ben").digest().subarray(0, 16).toString("base64url");
  assert.ok(!all.includes(`sr1.${guess}`));
  const [row] = await database.run<{ text: string }>(
    statement("t.text", "select string_agg(encode(wrapped_key, 'escape'), '') as text from events.subject_key"),
  );
  assert.ok(!row!.text.includes("person:"));
});

forEachDatabase("many who ask at once for a new person get the same reference", ["events"], async (_t, database, { second }) => {
  const kek = randomBytes(32);
  const both = [createReferences(kek, now), createReferences(kek, now)] as const;
  const other = (await second?.()) ?? database;
  const people = new Set(["person:x", "person:y", "person:z"]);
  const asked = await Promise.all(
    Array.from({ length: 20 }, (_, n) => both[n % 2 === 0 ? 0 : 1].resolve(n % 2 === 0 ? database : other, "tenant:acme", people, keep)),
  );
  assert.equal(new Set(asked.map((found) => [...people].map((person) => found.get(person)?.ref).join())).size, 1);
});

forEachDatabase("a reference made in a transaction that is rolled back is forgotten", ["events"], async (_t, database) => {
  const references = createReferences(randomBytes(32), now);
  const people = new Set(["person:ben"]);
  let inside = "";
  await database
    .transaction(async (sql) => {
      inside = (await references.resolve(sql, "tenant:acme", people, { remember: false })).get("person:ben")!.ref;
      throw new Error("rolled back");
    })
    .catch(() => undefined);
  assert.equal(await references.find(database, "tenant:acme", "person:ben"), undefined);
  const outside = (await references.resolve(database, "tenant:acme", people, keep)).get("person:ben")!.ref;
  assert.notEqual(outside, inside);
  assert.deepEqual([...(await references.subjectsOf(database, "tenant:acme", [outside, inside]))], [[outside, "person:ben"]]);
  assert.deepEqual([...(await references.subjectsOf(database, "tenant:globex", [outside]))], [], "not of another tenant");
});

forEachDatabase("a transaction remembers what it found of others, and never what it made itself", ["events"], async (_t, database) => {
  let time = now().getTime();
  const references = createReferences(randomBytes(32), () => new Date(time));
  let asked = 0;
  /** Resolves twice in one transaction; the refs, and how many statements each took. */
  const inTransaction = async (people: readonly string[], end?: Error) => {
    const refs: string[] = [];
    const counts: number[] = [];
    const work = database.transaction(async (sql) => {
      const counted: Sql = {
        run: (...given) => {
          asked++;
          return sql.run(...given);
        },
      };
      for (let round = 0; round < 2; round++) {
        asked = 0;
        const found = await references.resolve(counted, "tenant:acme", new Set(people), { remember: false });
        refs.push(people.map((person) => found.get(person)?.ref).join());
        counts.push(asked);
      }
      if (end !== undefined) throw end;
    });
    await (end === undefined ? work : assert.rejects(work, (error) => error === end));
    assert.equal(refs[0], refs[1], "one transaction sees one reference");
    return { ref: refs[0] ?? "", counts };
  };
  const undone = await inTransaction(["person:ben"], new Error("rolled back"));
  assert.deepEqual(undone.counts, [3, 1], "found, made, read again; then found, for it is not yet anybody's");
  const made = await inTransaction(["person:ben"]);
  assert.deepEqual(made.counts, [3, 1]);
  assert.notEqual(made.ref, undone.ref, "what was rolled back is not used");
  assert.deepEqual(await inTransaction(["person:ben"]), { ref: made.ref, counts: [1, 0] }, "found of others, it is remembered");
  assert.deepEqual(await inTransaction(["person:ben"], new Error("undone")), { ref: made.ref, counts: [0, 0] });

  // Beside one that is new, those found are remembered all the same.
  time += 30_001;
  assert.deepEqual((await inTransaction(["person:ben", "person:cleo"], new Error("rolled back"))).counts, [3, 1]);
  assert.deepEqual((await inTransaction(["person:ben"])).counts, [0, 0]);

  // Erased, a person has a new one at the latest after the time for which references are remembered.
  await database.run(statement("t.erase", "delete from events.subject_key where subject_id = 'person:ben'"));
  time += 30_001;
  const reborn = await inTransaction(["person:ben"]);
  assert.deepEqual(reborn.counts, [3, 1]);
  assert.notEqual(reborn.ref, made.ref);
});

forEachDatabase("what is sealed opens only with the person's key and for its own entry", ["events"], async (_t, database) => {
  const kek = randomBytes(32);
  const references = createReferences(kek, now);
  const found = await references.resolve(database, "tenant:acme", new Set(["person:ben", "person:cleo"]), keep);
  const ben = found.get("person:ben")!;
  const sealed = references.seal("tenant:acme", "person:ben", ben, "entry-1", { ip: "192.0.2.1" });
  assert.ok(!Buffer.from(sealed, "base64url").toString("latin1").includes("192.0.2.1"));
  assert.deepEqual(references.unseal("tenant:acme", "person:ben", ben, "entry-1", sealed), { ip: "192.0.2.1" });
  assert.throws(() => references.unseal("tenant:acme", "person:ben", ben, "entry-2", sealed));
  assert.throws(() => references.unseal("tenant:acme", "person:cleo", found.get("person:cleo")!, "entry-1", sealed));
  assert.throws(() => createReferences(randomBytes(32), now).unseal("tenant:acme", "person:ben", ben, "entry-1", sealed));
});

test("the wrapping key comes from its file, or is made once where that is allowed", async (t) => {
  const dataFolder = await mkdtemp(join(tmpdir(), "sallyport-kek-"));
  cleanUp(t, () => rm(dataFolder, { recursive: true, force: true }));
  await assert.rejects(keyEncryptionKey({ file: undefined, dataFolder, mayMake: false }), /AUDIT_KEK_FILE/);
  const made = await Promise.all(Array.from({ length: 5 }, () => keyEncryptionKey({ file: undefined, dataFolder, mayMake: true })));
  for (const key of made) assert.deepEqual(key, made[0]);
  assert.equal((await stat(join(dataFolder, "keys", "audit-kek"))).mode & 0o777, 0o600);
  const key = randomBytes(32);
  const file = join(dataFolder, "key");
  for (const form of [key, key.toString("hex"), `${key.toString("base64")}\n`]) {
    await writeFile(file, form);
    assert.deepEqual(Buffer.from(await keyEncryptionKey({ file, dataFolder, mayMake: false })), key);
  }
  await writeFile(file, "short");
  await assert.rejects(keyEncryptionKey({ file, dataFolder, mayMake: false }), /32 bytes/);
});
