import assert from "node:assert/strict";
import { test } from "node:test";
import { CircuitState } from "cockatiel";
import { createMetrics } from "#telemetry/metrics.ts";
import { createBreaker, createFailureWindow } from "./breaker.ts";

test("it opens at half of at least twenty calls of the last ten seconds, and not before", () => {
  const { Closed } = CircuitState;
  for (const [good, wanted] of [
    [10, [false, false, false, false, false, false, false, false, false, true]],
    [11, [false, false, false, false, false, false, false, false, false, false, true]],
    [0, [...Array.from({ length: 19 }, () => false), true]],
  ] as const) {
    const window = createFailureWindow(() => 0);
    for (let call = 0; call < good; call++) window.success(Closed);
    assert.deepEqual(
      wanted.map(() => window.failure(Closed)),
      wanted,
    );
  }
});

test("what is longer ago than ten seconds does not count, however quiet it was since", () => {
  let now = 0;
  const window = createFailureWindow(() => now);
  for (let call = 0; call < 19; call++) assert.equal(window.failure(CircuitState.Closed), false);
  now = 60_000;
  assert.equal(window.failure(CircuitState.Closed), false);
  for (let call = 0; call < 18; call++) assert.equal(window.failure(CircuitState.Closed), false);
  now += 9000;
  assert.equal(window.failure(CircuitState.Closed), true);
});

test("while its one trial is under way the others are refused at once, and a fault that is none of its own counts nothing", async () => {
  const metrics = createMetrics();
  class Gone extends Error {}
  const refused = new Error("refused");
  const breaker = createBreaker({ name: "x", metrics, isFailure: (error) => error instanceof Gone, refuse: () => refused, restMs: 0 });
  const fail = () => breaker.run(() => Promise.reject(new Gone()));
  for (let call = 0; call < 30; call++)
    await assert.rejects(
      breaker.run(() => Promise.reject(new TypeError())),
      TypeError,
    );
  assert.match(await metrics.text(), /circuit_breaker_status\{service="x"\} 0\n[\s\S]*circuit_breaks_total\{service="x"\} 0\n/);
  for (let call = 0; call < 20; call++) await assert.rejects(fail(), Gone);
  assert.match(await metrics.text(), /circuit_breaker_status\{service="x"\} 2\n[\s\S]*circuit_breaks_total\{service="x"\} 1\n/);
  const trial = Promise.withResolvers<string>();
  const tried = breaker.run(() => trial.promise);
  assert.match(await metrics.text(), /circuit_breaker_status\{service="x"\} 1\n/);
  await assert.rejects(
    breaker.run(async () => "y"),
    (error) => error === refused,
  );
  trial.resolve("well");
  assert.equal(await tried, "well");
  assert.match(await metrics.text(), /circuit_breaker_status\{service="x"\} 0\n/);
});
