import assert from "node:assert/strict";
import { test } from "node:test";
import { createRetryBudget } from "./retry-budget.ts";

test("a tenth of the calls of the last ten seconds is repeated at most, and a few always", () => {
  let now = 0;
  const budget = createRetryBudget(3, () => now);
  const takeAll = (): number => {
    let taken = 0;
    while (budget.take()) taken += 1;
    return taken;
  };
  assert.equal(takeAll(), 3);
  for (let call = 0; call < 100; call++) budget.called();
  assert.equal(takeAll(), 7);
  now = 9000;
  for (let call = 0; call < 100; call++) budget.called();
  assert.equal(takeAll(), 10);
  // The first hundred and the ten repeated with them have passed out of sight.
  now = 10_000;
  assert.equal(takeAll(), 0);
  now = 60_000;
  assert.equal(takeAll(), 3);
});
