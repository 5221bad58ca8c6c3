import assert from "node:assert/strict";
import { test } from "node:test";
import { createDecisionIds, formatDecisionId, parseDecisionId } from "./decision-id.ts";

test("ids sort by time, and by order within a millisecond, even when the clock goes back", () => {
  let time = 1_700_000_000_000;
  const next = createDecisionIds(() => new Date(time));
  const made: string[] = [];
  for (let n = 0; n < 2000; n++) {
    if (n % 500 === 0) time += 1;
    if (n === 1000) time -= 50;
    made.push(next());
  }
  assert.deepEqual(
    made,
    made.toSorted((a, b) => (a < b ? -1 : 1)),
  );
  assert.equal(new Set(made).size, made.length);
  assert.match(made[0] ?? "", /^d_01HF7YAT0[0-9A-Z]{17}$/);
});

test("an id is read back as it was written, and nothing else is an id", () => {
  const callId = createDecisionIds(() => new Date())();
  assert.deepEqual(parseDecisionId(callId), { callId });
  assert.deepEqual(parseDecisionId(`${callId}.17`), { callId, index: 17 });
  assert.equal(formatDecisionId({ callId, index: 0 }), `${callId}.0`);
  for (const text of [
    "",
    "d_",
    callId.slice(2),
    `${callId}.`,
    `${callId}.01`,
    `${callId}.x`,
    `${callId}.10000`,
    callId.toLowerCase(),
    ` ${callId}`,
  ]) {
    assert.equal(parseDecisionId(text), undefined, text);
  }
});

test("each of the last 16 digits is chance, in every new millisecond", () => {
  let time = 0;
  const next = createDecisionIds(() => new Date((time += 1)));
  const tails = Array.from({ length: 3_000 }, () => next().slice(12));
  for (let at = 0; at < 16; at++) assert.equal(new Set(tails.map((tail) => tail.charAt(at))).size, 32, `place ${at}`);
  assert.equal(new Set(tails).size, tails.length);
});
