import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, test } from "node:test";
import { atOnce, createYielding, createYieldingOfLong, yielding } from "./yielding.ts";

const busy = (milliseconds: number): void => {
  for (const end = performance.now() + milliseconds; performance.now() < end;);
};
/** Counts the turns of the loop. */
const watch = () => {
  let turns = 0;
  let isOn = true;
  const count = (): void => {
    turns += 1;
    if (isOn) setImmediate(count);
  };
  setImmediate(count);
  return { turns: () => turns, end: () => void (isOn = false) };
};
// Nobody works in the turn in which the next one begins.
afterEach(() => sleep(5));

test("who works alone goes on until the slice is over", async () => {
  const turn = createYielding(60_000);
  createYielding(0);
  for (let piece = 0; piece < 3; piece++) assert.equal(turn(), undefined);
});

test("others have a turn once a slice is over, and the next slice begins after it", async () => {
  const seen = watch();
  const turn = createYielding(0);
  for (let at = 1; at <= 3; at++) {
    const before = seen.turns();
    const waited = turn();
    assert.ok(waited instanceof Promise);
    await waited;
    assert.ok(seen.turns() > before);
  }
  seen.end();
});

test("of those at work in one turn of the loop the first alone goes on, and each has turns to itself, in the order of asking", async () => {
  const seen = watch();
  const worked: (readonly [who: string, turns: number])[] = [];
  const work = async (who: string): Promise<void> => {
    const turn = createYielding(5);
    for (let piece = 0; piece < 3; piece++) {
      worked.push([who, seen.turns()]);
      busy(6);
      await turn();
    }
  };
  await Promise.all([work("a"), work("b"), work("c")]);
  seen.end();
  assert.equal(worked.map(([who]) => who).join(""), "abcabcabc");
  const later = worked.slice(3).map(([, turns]) => turns);
  assert.equal(new Set(later).size, 6, `turns ${later.join(", ")}`);
});

test("who comes while others wait does not go before them", async () => {
  const order: string[] = [];
  const wait = async (who: string, sliceMs: number): Promise<void> => {
    await createYielding(sliceMs)();
    order.push(who);
  };
  const waits = [wait("first", 0), wait("second", 60_000)];
  await sleep(0);
  waits.push(wait("third", 60_000));
  await Promise.all(waits);
  assert.deepEqual(order.slice(0, 2), ["first", "second"]);
});

test("who is done before a slice is over waits for nobody, also where others work", async () => {
  const others = createYielding(60_000);
  assert.equal(others(), undefined);
  assert.equal(createYieldingOfLong(60_000)(), undefined);
  assert.ok(createYieldingOfLong(0)() instanceof Promise);
});

test("work in pieces comes to the same in turns and at once, and its failure is whoever's who waits", async () => {
  const seen = watch();
  const work = function* (max: number): Generator<void, number> {
    for (let piece = 0; piece < 3; piece++) {
      if (piece === max) throw new RangeError("no more");
      yield;
    }
    return seen.turns();
  };
  const before = seen.turns();
  assert.equal(atOnce(work(9)), before);
  assert.ok((await yielding(work(9), createYielding(0))) >= before + 3);
  assert.throws(() => atOnce(work(1)), RangeError);
  await assert.rejects(yielding(work(1), createYielding(0)), RangeError);
  seen.end();
});
