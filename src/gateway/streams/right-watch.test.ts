import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { Problem, type ProblemCode } from "#contract/problem.ts";
import { watchRight } from "./right-watch.ts";

const START = new Date("2026-03-01T08:00:00Z").getTime();
const DAYS_MS = 86_400_000;

/** A watch whose clock stands until the test moves it. */
const watch = (t: TestContext, until: number) => {
  t.mock.timers.enable({ apis: ["setTimeout", "setInterval", "Date"], now: START });
  const asked: number[] = [];
  const lost: string[] = [];
  const answers: (number | ProblemCode)[] = [];
  const made = watchRight({
    rightChanges: { watch: () => () => {} },
    tenant: "tenant:acme",
    until: START + until,
    now: () => new Date(),
    recheck: async () => {
      asked.push(Date.now() - START);
      const answer = answers.shift() ?? Infinity;
      if (typeof answer !== "number") throw new Problem(answer);
      return answer === Infinity ? answer : START + answer;
    },
    lost: (reason) => lost.push(reason),
  });
  const pass = async (milliseconds: number) => {
    t.mock.timers.tick(milliseconds);
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { made, asked, lost, answers, pass };
};

test("a right is asked for at the very moment when something runs out, and again at the next", async (t) => {
  const { made, asked, lost, answers, pass } = watch(t, 10_000);
  answers.push(25_000, "no_token_available");
  await pass(9_999);
  assert.deepEqual(asked, []);
  await pass(1);
  await pass(14_999);
  assert.deepEqual([asked, lost], [[10_000], []]);
  await pass(1);
  assert.deepEqual([asked, lost], [[10_000, 25_000], ["expired"]]);
  made.stop();
  await pass(DAYS_MS);
  assert.equal(asked.length, 2, "stopped it asks no more");
});

test("a moment beyond what a timer holds is waited for all the same, and what is stopped while it is asked waits for nothing", async (t) => {
  const { made, asked, answers, pass } = watch(t, 40 * DAYS_MS);
  await pass(59_999);
  assert.deepEqual(asked, []);
  answers.push(60_001);
  await pass(1);
  made.soon();
  made.stop();
  await pass(DAYS_MS);
  assert.deepEqual(asked, [60_000]);
});
