import assert from "node:assert/strict";
import { test } from "node:test";
import { Problem } from "#contract/problem.ts";
import { readInstanceSettings } from "#app/model/settings.ts";
import { ok } from "./finding.ts";
import { guardedStore } from "./look-at-database.ts";

test("a database that did not answer in time is asked once more, and then said with its setting and what to do", async () => {
  const plan = readInstanceSettings({ DATABASE_URL: "postgres://sally:canary@127.0.0.1:5999/sallyport" });
  const late = new Problem("store_unavailable", { cause: new Error("timeout exceeded when trying to connect") });
  let asked = 0;
  const slow = await guardedStore(plan, "keys", async () => {
    asked += 1;
    if (asked === 1) throw late;
    return [ok("keys", "fit")];
  });
  assert.deepEqual(slow, [ok("keys", "fit")]);
  asked = 0;
  const away = await guardedStore(plan, "keys", async () => {
    asked += 1;
    throw late;
  });
  assert.deepEqual(
    [asked, ...away.map(({ status, exitCode, text }) => [status, exitCode, text])],
    [
      2,
      [
        "fault",
        69,
        "DATABASE_URL: PostgreSQL at 127.0.0.1:5999 is not available: it did not answer in time. Start it, or correct the address.",
      ],
    ],
  );
  asked = 0;
  const other = await guardedStore(plan, "keys", async () => {
    asked += 1;
    throw new Error("of another kind");
  });
  assert.deepEqual([asked, other[0]?.text], [1, "Error: of another kind"]);
});
