import assert from "node:assert/strict";
import { test } from "node:test";
import { createUuids } from "./uuid.ts";

test("ids are UUIDv7 that sort in the order in which they were made, through a busy millisecond and a clock that goes back", () => {
  let time = Date.parse("2026-11-21T04:05:06.789Z");
  const next = createUuids(() => new Date(time));
  const made: string[] = [];
  for (let n = 0; n < 12_000; n++) {
    if (n === 6_000) time += 1;
    if (n === 9_000) time -= 60_000;
    made.push(next());
  }
  for (const id of made) assert.match(id, /^01a1fc47-80[0-9a-f]{2}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  assert.deepEqual(made, made.toSorted());
  assert.equal(new Set(made).size, made.length);
});

test("all of the last 62 bits are chance", () => {
  const next = createUuids(() => new Date(0));
  const tails = Array.from({ length: 2_000 }, () => next().slice(19).replace("-", ""));
  assert.deepEqual([...new Set(tails.map((tail) => tail.charAt(0)))].toSorted(), ["8", "9", "a", "b"]);
  for (let at = 1; at < 16; at++) assert.equal(new Set(tails.map((tail) => tail.charAt(at))).size, 16, `place ${at}`);
});
