import assert from "node:assert/strict";
import { test } from "node:test";
import { until } from "#testing/until.ts";
import { startInterval } from "./interval.ts";

test("rounds come again and again, never over one another, and none after the end, which waits for the one under way", async () => {
  let rounds = 0;
  let under = 0;
  let max = 0;
  const go = Promise.withResolvers<void>();
  const loop = startInterval({
    everyMs: 1,
    failed: (cause) => assert.fail(String(cause)),
    work: async () => {
      rounds += 1;
      max = Math.max(max, (under += 1));
      if (rounds === 3) await go.promise;
      under -= 1;
    },
  });
  await until(() => rounds === 3);
  const ended = loop[Symbol.asyncDispose]();
  assert.equal(loop.signal.aborted, true);
  assert.equal(under, 1, "the round is under way");
  go.resolve();
  await ended;
  assert.deepEqual([rounds, under, max], [3, 0, 1]);
  await new Promise((resolve) => setTimeout(resolve, 20));
  assert.equal(rounds, 3);
});

test("a failure ends nothing, and is told once until it changes or heals", async () => {
  const outcomes = ["a", "a", "b", "b", undefined, "b", "b"];
  const logged: string[] = [];
  let round = 0;
  await using _loop = startInterval({
    everyMs: 1,
    failed: (cause) => logged.push(String(cause)),
    work: async () => {
      const outcome = outcomes[round++];
      if (outcome !== undefined) throw new Error(outcome);
    },
  });
  await until(() => round > outcomes.length);
  assert.deepEqual(logged, ["Error: a", "Error: b", "Error: b"]);
});
