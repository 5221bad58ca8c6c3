import assert from "node:assert/strict";
import { test } from "node:test";
import { amountsOf } from "./amounts.ts";

test("without word from the stream the meter shows what was read", () => {
  assert.deepEqual(amountsOf(7, 1, 0, 50, undefined), { used: 7, held: 1 });
});

test("what the stream says is taken beyond what was read counts as used; what is known to be held stays held", () => {
  assert.deepEqual(amountsOf(7, 1, 0, 50, 42), { used: 7, held: 1 });
  assert.deepEqual(amountsOf(7, 1, 0, 50, 40), { used: 9, held: 1 });
});

test("steps given back make the meter fall, never below what is used", () => {
  assert.deepEqual(amountsOf(7, 1, 0, 50, 43), { used: 7, held: 0 });
  assert.deepEqual(amountsOf(7, 1, 0, 50, 45), { used: 5, held: 0 });
});

test("what is lent to others is neither used nor held", () => {
  assert.deepEqual(amountsOf(5, 0, 10, 50, 35), { used: 5, held: 0 });
});

test("nothing left is all used, and never less than nothing", () => {
  assert.deepEqual(amountsOf(48, 0, 0, 50, 0), { used: 50, held: 0 });
  assert.deepEqual(amountsOf(0, 0, 0, 5, 9), { used: 0, held: 0 });
});
