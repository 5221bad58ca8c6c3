import assert from "node:assert/strict";
import { test } from "node:test";
import { answerTo, attackWorld, onEveryRow, rawGet, runAttacks } from "#testing/attack-world.ts";
import { sharedDatabase } from "#testing/gateway.ts";

const database = sharedDatabase();

test("attack 48: while no plugin is registered, no bundle is served and nobody acts as one", async (t) => {
  const world = await attackWorld(t, await database(), { shippedRoutes: true });
  for (const [query, status, code] of [
    ["id=../x&entry=a.js", 404, "not_found"],
    ["id=a&entry=..%2f..%2fx", 404, "not_found"],
    ["id=a&entry=a%00.js", 400, "ambiguous_target"],
    ["id=a&entry=a.js", 404, "not_found"],
  ] as const)
    for (const more of ["", "<S>", "<S>If-None-Match: *\r\n", "<S>X-Plugin-Id: a\r\n"]) {
      const answer = await answerTo(world, rawGet(`/api/plugins/bundle?${query}`, more));
      assert.deepEqual([answer.status, answer.code], [status, code], `${query} ${more}`);
    }
  assert.deepEqual(world.upstream.seen, []);
});

test("attack 48: a request that calls itself a plugin's is refused on every row", async (t) => {
  const rows = onEveryRow((row, credential) => ({
    name: "attack 48: X-Plugin-Id",
    bytes: rawGet(`${row}x`, `${credential}X-Plugin-Id: acme.widgets\r\n`),
    expected: "access_denied",
  }));
  await runAttacks(t, await attackWorld(t, await database()), rows);
});
