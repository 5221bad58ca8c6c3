import assert from "node:assert/strict";
import { test } from "node:test";
import { createTurns } from "./turns.ts";

test("others have a turn once a slice is over, and the next slice begins after it", async () => {
  assert.equal(createTurns(60_000)(), undefined);
  const turn = createTurns(0);
  let others = 0;
  for (let at = 1; at <= 3; at++) {
    setImmediate(() => void (others += 1));
    const waited = turn();
    assert.ok(waited instanceof Promise);
    await waited;
    assert.equal(others, at);
  }
});
