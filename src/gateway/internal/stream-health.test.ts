import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { createSseParser, type SsePart } from "#http/sse.ts";
import { Problem } from "#contract/problem.ts";
import type { RouteCall } from "#gateway/steps/route-call.ts";
import type { SessionRecord } from "#gateway/sessions/session-store.ts";
import { createStreamRegistry } from "#gateway/streams/stream-registry.ts";
import { createStreamHealth } from "./stream-health.ts";

const HOUR_MS = 3_600_000;

/** One open stream of health, whose clock stands until the test moves it. */
const open = async (t: TestContext, recheck: () => Promise<number> = async () => Infinity) => {
  t.mock.timers.enable({ apis: ["setTimeout", "setInterval"] });
  const registry = createStreamRegistry({ total: 10 });
  const watching = new Set<() => void>();
  const health = createStreamHealth({
    bus: { isFresh: () => true, head: async () => 7n },
    isEmbedded: true,
    registry,
    rightChanges: { watch: (_tenant, moved) => (watching.add(moved), () => void watching.delete(moved)) },
    requireLiving: async () => Infinity,
    isUpstreamUp: async () => true,
    now: () => new Date("2026-03-01T08:00:00Z"),
  });
  const inbound = { headers: { get: (name: string) => (name === "accept" ? "text/event-stream" : undefined) } };
  const response = await health({ inbound, recheck } as unknown as RouteCall, { ref: "r", tenant: "tenant:acme" } as SessionRecord);
  const parser = createSseParser();
  const received: SsePart[] = [];
  const ended = (async () => {
    for await (const chunk of response.body ?? []) received.push(...parser.push(chunk));
  })();
  const settle = () => new Promise((resolve) => setImmediate(resolve));
  const last = () => {
    const part = received.findLast((one) => one.kind === "message");
    return part?.kind === "message"
      ? { event: part.event, ...(JSON.parse(part.data) as { reason?: string; retry_ms?: number }) }
      : undefined;
  };
  return { registry, watching, received, ended, settle, last };
};

test("a stream of health tells each 15 s, ends after an hour as others do, and leaves nothing behind", async (t) => {
  const made = await open(t);
  for (let at = 0; at < HOUR_MS - 15_000; at += 15_000) {
    t.mock.timers.tick(15_000);
    await made.settle();
  }
  assert.equal(made.received.filter((part) => part.kind === "message" && part.event === "health").length, 240);
  const { streams = [] } = made.last() as { readonly streams?: readonly { readonly name: string; readonly head: number }[] };
  assert.deepEqual(
    streams.map(({ name }) => name),
    ["config", "workflow", "activity"],
  );
  assert.deepEqual([made.registry.open, made.watching.size], [1, 1]);
  t.mock.timers.tick(15_000);
  await made.ended;
  const last = made.last();
  assert.deepEqual([last?.event, last?.reason], ["bye", "limit"]);
  assert.ok((last?.retry_ms ?? 0) >= 2000 && (last?.retry_ms ?? 0) <= 5000, "spread, so that not all come back at once");
  assert.deepEqual([made.registry.open, made.watching.size], [0, 0]);
});

test("a stream of health ends with the right to it, asked each minute and when something moves", async (t) => {
  const cases: readonly (readonly [code: "access_denied" | "step_up_required" | "not_found", reason: string, moved: boolean])[] = [
    ["access_denied", "revoked", false],
    ["step_up_required", "step_up", true],
    ["not_found", "upstream", true],
  ];
  for (const [code, reason, moved] of cases) {
    let asked = 0;
    const made = await open(t, async () => {
      asked += 1;
      if (asked > 1) throw new Problem(code);
      return Infinity;
    });
    t.mock.timers.tick(60_000);
    await made.settle();
    assert.equal(asked, 1);
    if (moved) {
      made.watching.forEach((tell) => tell());
      t.mock.timers.tick(1000);
    } else t.mock.timers.tick(60_000);
    await made.ended;
    assert.deepEqual([made.last()?.event, made.last()?.reason], ["bye", reason], code);
    assert.equal(made.registry.open, 0);
    t.mock.timers.reset();
  }
});
