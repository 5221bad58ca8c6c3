import assert from "node:assert/strict";
import { test } from "node:test";
import { Problem } from "#contract/problem.ts";
import { forEachDatabase, testDatabase } from "#testing/database.ts";
import { graphModules } from "#testing/membership.ts";
import { statement, type Database } from "#store/database.ts";
import { searchMs } from "./search-limits.ts";
import { createSearches } from "./sql-search.ts";
import { wholeGraph } from "./tenant-scope.ts";

const PERSONS = statement(
  "test.persons",
  `insert into membership.node (id, kind, tenant_id, name, state, props, fold, rev)
   select 'person:g' || g, 'Person', 'tenant:t', 'Anna Adler', 'active', '{}', 'person:g' || g || chr(31) || 'anna adler', 1
   from generate_series(1, $1) g`,
);
const kinds = ["Person"];
const page = { limit: 5, skip: 0 };
const codeOf = (asked: Promise<unknown>): Promise<string> =>
  asked.then(
    () => "answered",
    (error: unknown) => (error instanceof Problem ? error.code : String(error)),
  );
const asksOf = (database: Database, ms?: number) => {
  const searches = createSearches(database, ms === undefined ? undefined : () => ms);
  return {
    fullText: (text: string) => searches.fullText(wholeGraph, { kinds, system: undefined, text }, page),
    search: (search?: string) => searches.search(wholeGraph, { kinds, search, system: undefined }, { ...page, withTotal: true }),
    count: (search?: string) => searches.count(wholeGraph, { kinds, search, system: undefined }),
  };
};

forEachDatabase("a search that takes too long is stopped, whatever it looks for, and says so", graphModules, async (_t, database) => {
  await database.run(PERSONS, [200]);
  const { fullText, search, count } = asksOf(database, 0);
  for (const text of ["an", "%", "anna", "anna le g1"])
    for (const ask of [fullText, search, count]) assert.deepEqual([text, await codeOf(ask(text))], [text, "narrow_the_search"]);
  for (const ask of [search, count]) assert.equal(await codeOf(ask()), "narrow_the_search");
});

forEachDatabase("as many are found by short words as by long ones, and only so many are weighed", graphModules, async (_t, database) => {
  await database.run(PERSONS, [1_200]);
  const { fullText, search, count } = asksOf(database, 60_000);
  const max = database.kind === "pglite" ? 1_000 : 1_200;
  for (const text of ["an", "anna", "an ad", "ad anna", "adlre"]) assert.deepEqual([text, (await fullText(text)).value.total], [text, max]);
  for (const text of ["an", "anna"]) {
    assert.deepEqual([(await search(text)).value.total, (await count(text)).value], [1_200, 1_200]);
  }
  assert.deepEqual([(await search()).value.total, (await search("adlre")).value.total, (await fullText("zz")).value.total], [1_200, 0, 0]);
});

test("on the embedded database whatever else is asked waits for one search, and not for all of them", async (t) => {
  const database = await testDatabase(t, graphModules);
  await database.run(PERSONS, [1_000]);
  const { fullText } = asksOf(database, 60_000);
  let ended = 0;
  const searches = Array.from({ length: 6 }, () => fullText("an ad").finally(() => void (ended += 1)));
  const endedAt: number[] = [];
  while (ended < searches.length) {
    await database.ready();
    endedAt.push(ended);
  }
  await Promise.all(searches);
  assert.ok(new Set(endedAt.filter((count) => count < searches.length)).size >= searches.length - 1, endedAt.join(" "));
});

test("too many searches at once are refused on the embedded database; what waits is answered", async (t) => {
  const { count } = asksOf(await testDatabase(t, graphModules), 60_000);
  const codes = await Promise.all(Array.from({ length: 12 }, () => codeOf(count("anna"))));
  assert.deepEqual(codes, [...Array<string>(9).fill("answered"), "busy", "busy", "busy"]);
  assert.equal(await codeOf(count("anna")), "answered");
});

test("a search has less time where the index does not help, and where everybody waits for it", () => {
  assert.deepEqual(
    (["pglite", "postgres"] as const).map((kind) => [searchMs(kind, "an"), searchMs(kind, "anna"), searchMs(kind, undefined)]),
    [
      [200, 400, 400],
      [200, 10_000, 10_000],
    ],
  );
});
