import assert from "node:assert/strict";
import { test } from "node:test";
import { reconnectAfter } from "./backoff.ts";

test("the server's own wish counts, up to a minute", () => {
  assert.equal(
    reconnectAfter(5, 2_500, () => 1),
    2_500,
  );
  assert.equal(
    reconnectAfter(0, 0, () => 1),
    0,
  );
  assert.equal(
    reconnectAfter(0, 600_000, () => 1),
    60_000,
  );
});

test("without a wish the longest wait doubles from 3 s to 60 s and is spread over its whole length", () => {
  const longest = [0, 1, 2, 3, 4, 5, 50].map((failures) => reconnectAfter(failures, undefined, () => 1));
  assert.deepEqual(longest, [3_000, 6_000, 12_000, 24_000, 48_000, 60_000, 60_000]);
  assert.equal(
    reconnectAfter(4, undefined, () => 0),
    0,
  );
  assert.equal(
    reconnectAfter(1, undefined, () => 0.5),
    3_000,
  );
});
