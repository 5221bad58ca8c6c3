import assert from "node:assert/strict";
import { test } from "node:test";
import { createMetrics } from "#telemetry/metrics.ts";
import { UpstreamError } from "#crud/model/upstream-error.ts";
import { createResilience } from "./resilience.ts";

const run = { tenant: "tenant:acme", principal: "person:ben" };
const concurrency = { max: 1, queue: 8, wait: 60_000 };

for (const [when, signal] of [
  ["that has ended already", () => AbortSignal.abort()],
  ["whose time is over while it waits", () => AbortSignal.timeout(10)],
] as const)
  test(`a call ${when} waits for no place, and is not sent`, { timeout: 30_000 }, async () => {
    const circuit = { failures: 20, window: 30_000, open: 15_000 };
    const resilience = createResilience({ system: "a.b", concurrency, circuit, metrics: createMetrics(), now: () => new Date() });
    const { promise, resolve } = Promise.withResolvers<string>();
    const held = resilience({ ...run, signal: new AbortController().signal, attempt: () => promise });
    let sent = 0;
    await assert.rejects(
      resilience({ ...run, signal: signal(), attempt: async () => sent++ }),
      (error) => error instanceof UpstreamError && error.effect === "not_sent" && error.problem.code === "upstream_timeout",
    );
    resolve("held");
    assert.equal(await held, "held");
    assert.equal(await resilience({ ...run, signal: new AbortController().signal, attempt: async () => "next" }), "next");
    assert.equal(sent, 0);
  });
