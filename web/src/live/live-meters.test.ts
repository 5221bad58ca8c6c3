import assert from "node:assert/strict";
import { test } from "node:test";
import { createLiveMeters, readMeter } from "./live-meters.ts";

const now = new Date(0);

test("a budget event is a meter", () => {
  assert.deepEqual(readMeter({ delegation_id: "delegation:x", steps_left: 3, budget_left_usd: 0.5 }, now), {
    delegationId: "delegation:x",
    meter: { stepsLeft: 3, budgetLeftUsd: 0.5, at: now },
  });
});

test("what lacks a number or an id is none", () => {
  for (const data of [
    {},
    { delegation_id: "x" },
    { delegation_id: "x", steps_left: "3", budget_left_usd: 1 },
    { steps_left: 3, budget_left_usd: 1 },
  ])
    assert.equal(readMeter(data, now), undefined, JSON.stringify(data));
});

test("listeners hear of every change until they leave, and a cleared meter is gone", () => {
  const meters = createLiveMeters();
  let received = 0;
  const leave = meters.subscribe(() => void (received += 1));
  meters.set("a", { stepsLeft: 1, budgetLeftUsd: 1, at: now });
  assert.equal(meters.get("a")?.stepsLeft, 1);
  meters.clear();
  leave();
  meters.set("a", { stepsLeft: 2, budgetLeftUsd: 1, at: now });
  assert.equal(received, 2);
});
