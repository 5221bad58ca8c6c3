import assert from "node:assert/strict";
import { test } from "node:test";
import { gatherBytes } from "./read-bytes.ts";

for (const [pieces, bytes] of [
  [0, 1],
  [1, 70_000],
  [1024, 1],
  [1025, 1],
  [5000, 3],
] as const)
  test(`${pieces} pieces of ${bytes} bytes are gathered in their order, and counted one by one`, async () => {
    const whole = Buffer.from(Array.from({ length: pieces * bytes }, (_, at) => (at * 7) % 251));
    const arrived: (readonly [number, number])[] = [];
    const sent = async function* () {
      for (let at = 0; at < pieces; at++) yield whole.subarray(at * bytes, (at + 1) * bytes);
    };
    const count = (all: number, ofPiece: number): undefined => void arrived.push([all, ofPiece]);
    const gathered = await gatherBytes(sent(), whole.byteLength, () => new Error("too large"), count);
    assert.ok(gathered.equals(whole));
    assert.deepEqual(
      arrived,
      Array.from({ length: pieces }, (_, at) => [(at + 1) * bytes, bytes]),
    );
  });
