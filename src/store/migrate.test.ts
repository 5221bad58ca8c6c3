import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type test from "node:test";
import { cleanUp } from "#testing/clean-up.ts";
import { forEachDatabase } from "#testing/database.ts";
import { statement } from "./database.ts";
import { migrate, MigrationError, type MigrationFolder } from "./migrate.ts";

const moduleOf = async (t: test.TestContext, module: string, files: Readonly<Record<string, string>>): Promise<MigrationFolder> => {
  const folder = await mkdtemp(join(tmpdir(), "sallyport-migrate-"));
  cleanUp(t, () => rm(folder, { recursive: true, force: true }));
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text);
  return { module, folder: pathToFileURL(`${folder}/`) };
};

const TABLES = statement<{ table_name: string }>(
  "t.tables",
  "select table_name from information_schema.tables where table_schema = 'garden' order by 1",
);
const first = "create schema garden; create table garden.tree (id int);";
const second =
  "create table garden.leaf (id int); create function garden.grow() returns int language plpgsql as $$ begin return 1; end $$;";

forEachDatabase("migrations are applied once, in order, and the rest later", [], async (t, database) => {
  const module = await moduleOf(t, "garden", { "001-trees.sql": first });
  assert.deepEqual(await migrate(database, [module]), ["garden/001-trees.sql"]);
  assert.deepEqual(await migrate(database, [module]), []);
  await writeFile(new URL("002-leaves.sql", module.folder), second);
  assert.deepEqual(await migrate(database, [module]), ["garden/002-leaves.sql"]);
  assert.deepEqual(
    (await database.run(TABLES)).map((row) => row.table_name),
    ["leaf", "tree"],
  );
});

forEachDatabase("a migration that fails is named and leaves nothing behind", [], async (t, database) => {
  const module = await moduleOf(t, "garden", {
    "001-trees.sql": first,
    "002-broken.sql": "create table garden.leaf (id int); select nonsense",
  });
  await assert.rejects(migrate(database, [module]), (error: unknown) => {
    assert.ok(error instanceof MigrationError);
    assert.match(error.message, /^garden\/002-broken\.sql: .*nonsense/);
    return true;
  });
  assert.deepEqual(await database.run(TABLES), []);
});

forEachDatabase("an applied file that was changed or removed is a clear fault", [], async (t, database) => {
  const module = await moduleOf(t, "garden", { "001-trees.sql": first });
  await migrate(database, [module]);
  await writeFile(new URL("001-trees.sql", module.folder), `${first} -- changed`);
  await assert.rejects(migrate(database, [module]), /garden\/001-trees\.sql was changed after it had been applied/);
  await rm(new URL("001-trees.sql", module.folder));
  await assert.rejects(migrate(database, [module]), /garden\/001-trees\.sql was applied .* does not have it/);
  assert.deepEqual(await migrate(database, [await moduleOf(t, "other", {})]), [], "other modules do not mind");
});

forEachDatabase("files that are misnamed are refused", [], async (t, database) => {
  await assert.rejects(migrate(database, [await moduleOf(t, "garden", { "1-trees.sql": first })]), /named like 001-name\.sql/);
  await assert.rejects(migrate(database, [await moduleOf(t, "garden", { "001-a.sql": first, "001-b.sql": second })]), /used twice/);
});

forEachDatabase("processes that start at once all come up", [], async (t, database, { second: open }) => {
  const module = await moduleOf(t, "garden", { "001-trees.sql": first, "002-leaves.sql": second });
  const other = (await open?.()) ?? database;
  const applied = await Promise.all([migrate(database, [module]), migrate(other, [module]), migrate(database, [module])]);
  assert.deepEqual(applied.flat().sort(), ["garden/001-trees.sql", "garden/002-leaves.sql"]);
});
