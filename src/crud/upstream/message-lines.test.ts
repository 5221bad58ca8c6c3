import assert from "node:assert/strict";
import { test } from "node:test";
import { createShares } from "#http/shares.ts";
import { createMessageLines } from "./message-lines.ts";

const shares = createShares({ total: 10_000_000, perKey: 10_000_000 });

test("a line that arrives byte by byte costs memory by its bytes, not by its pieces", () => {
  const claim = shares("tenant:acme");
  const lines = createMessageLines(2_097_152, claim);
  const before = process.memoryUsage().heapUsed;
  for (let at = 0; at < 1_000_000; at++) lines.feed(Buffer.from(new ArrayBuffer(1)).fill(0x61));
  assert.equal(claim.taken, 1_000_000);
  // A piece of its own takes some two hundred bytes.
  assert.ok(process.memoryUsage().heapUsed - before < 100_000_000);
  assert.deepEqual(lines.feed(Buffer.from("b\nc")), [`${"a".repeat(1_000_000)}b`]);
  assert.deepEqual([claim.taken, lines.feed(Buffer.from("\n"))], [1, ["c"]]);
});

for (const [what, maxBytes, perKey, isBeyondShare] of [
  ["than any may be", 3000, 1_000_000, false],
  ["than its share", 1_000_000, 3000, true],
] as const)
  test(`of a line longer ${what} its ends are stored, in however many pieces it comes`, () => {
    const claim = createShares({ total: perKey, perKey })("tenant:acme");
    const lines = createMessageLines(maxBytes, claim);
    const text = Array.from({ length: 5000 }, (_none, at) => String(at % 10)).join("");
    for (const char of text) assert.deepEqual(lines.feed(Buffer.from(char)), []);
    assert.equal(claim.taken, 0);
    assert.deepEqual(lines.feed(Buffer.from("\n{}\n")), [{ head: text.slice(0, 256), tail: text.slice(-256), isBeyondShare }, "{}"]);
  });
