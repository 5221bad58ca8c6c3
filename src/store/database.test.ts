import { test } from "node:test";
import { forEachDatabase, testDatabase } from "#testing/database.ts";
import { databaseContract } from "./database.contract.ts";

databaseContract(forEachDatabase);
databaseContract((name, modules, work, more) => {
  void test(`${name} (embedded, in a thread of its own)`, more, async (t) =>
    work(t, await testDatabase(t, modules, "own"), { second: undefined }),
  );
});
