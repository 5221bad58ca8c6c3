import assert from "node:assert/strict";
import { test } from "node:test";
import { createEventRing } from "./event-ring.ts";
import type { StreamEvent } from "./stream-source.ts";

const event = (n: number, text = ""): StreamEvent => ({
  seq: BigInt(n),
  id: String(n),
  type: "thing.changed",
  kind: "graph",
  at: "2026-11-21T04:00:00.000Z",
  correlationId: undefined,
  visibleTo: undefined,
  data: { text },
});
const events = (from: number, to: number, text = ""): StreamEvent[] =>
  Array.from({ length: to - from + 1 }, (_, n) => event(from + n, text));
const numbers = (given: readonly StreamEvent[] | undefined): number[] | undefined => given?.map(({ seq }) => Number(seq));

test("a ring gives what comes after a version, and says when it no longer reaches so far back", () => {
  const ring = createEventRing({ events: 10, bytes: 1_000_000 });
  assert.equal(ring.after(0n, 5), undefined, "it holds nothing");
  ring.hold(events(5, 9));
  assert.deepEqual(numbers(ring.after(4n, 3)), [5, 6, 7]);
  assert.deepEqual(numbers(ring.after(7n, 10)), [8, 9]);
  assert.deepEqual(numbers(ring.after(9n, 10)), []);
  assert.equal(ring.after(3n, 10), undefined);
  ring.hold(events(10, 19));
  assert.deepEqual(numbers(ring.after(9n, 99)), [10, 11, 12, 13, 14, 15, 16, 17, 18, 19]);
  assert.equal(ring.after(8n, 10), undefined);
});

test("a ring counts the bytes after a version, and lets go of old events when it holds too many", () => {
  const ring = createEventRing({ events: 100, bytes: 10_000 });
  assert.equal(ring.bytesAfter(0n), 0);
  ring.hold(events(1, 3, "x".repeat(1_000)));
  const [one, all] = [ring.bytesAfter(2n), ring.bytesAfter(0n)];
  assert.ok(one > 1_000 && one < 1_500);
  assert.equal(all, 3 * one);
  assert.equal(ring.bytesAfter(3n), 0);
  assert.equal(ring.bytesAfter(99n), 0, "of a version that is still to come");
  ring.hold(events(4, 30, "x".repeat(1_000)));
  const kept = numbers(ring.after(29n, 1)) ?? [];
  assert.deepEqual(kept, [30]);
  assert.equal(ring.after(15n, 1), undefined);
  assert.equal(ring.bytesAfter(15n), 30 * one, "what it lost counts as all of it");
});
