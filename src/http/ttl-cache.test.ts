import assert from "node:assert/strict";
import { test } from "node:test";
import { createTtlCache } from "./ttl-cache.ts";

test("what is remembered goes at its end to the millisecond, and what was not asked for longest when there is no room", () => {
  let at = Date.parse("2026-11-22T10:00:00Z");
  const recent = createTtlCache<{ readonly n: number }>(2, () => new Date(at));
  recent.set("a", { n: 1 }, at + 1000);
  recent.set("gone", { n: 0 }, at);
  assert.equal(recent.get("gone"), undefined);
  at += 999;
  assert.deepEqual(recent.get("a"), { n: 1 });
  at += 1;
  assert.equal(recent.get("a"), undefined);
  for (const [n, key] of ["b", "c"].entries()) recent.set(key, { n }, at + 1000);
  assert.ok(recent.get("b"));
  recent.set("d", { n: 3 }, at + 1000);
  assert.deepEqual(
    ["b", "c", "d"].map((key) => recent.get(key) !== undefined),
    [true, false, true],
  );
  recent.set("b", { n: 4 }, 0);
  assert.equal(recent.get("b"), undefined, "an end in the past takes it away");
});
