import assert from "node:assert/strict";
import { test } from "node:test";
import { createPointBreaker } from "./point-breaker.ts";

const at = () => {
  let now = 1_800_000_000_000;
  const breaker = createPointBreaker(() => new Date(now));
  const isOpen = (): boolean => {
    try {
      breaker.guard();
      return false;
    } catch (error) {
      assert.equal((error as { code?: string }).code, "pdp_unavailable");
      return true;
    }
  };
  const attempt = (answered: boolean): void => {
    breaker.guard();
    breaker.note(answered);
  };
  return { breaker, isOpen, attempt, pass: (ms: number) => void (now += ms) };
};

test("five failures of the last ten open it for five seconds; then one call tries", () => {
  const { attempt, isOpen, pass, breaker } = at();
  for (const answered of [true, false, false, true, false, false, true]) attempt(answered);
  assert.equal(isOpen(), false);
  attempt(false);
  assert.equal(isOpen(), true);
  pass(4_999);
  assert.equal(isOpen(), true);
  pass(1);
  assert.equal(isOpen(), false, "the trial");
  assert.equal(isOpen(), true, "one trial at a time");
  breaker.note(true);
  assert.equal(isOpen(), false);
  for (let i = 0; i < 4; i += 1) attempt(false);
  assert.equal(isOpen(), false, "what was before it closed is forgotten");
});

test("a trial that fails opens it again, and one that says nothing lets the next try", () => {
  const { attempt, isOpen, pass, breaker } = at();
  for (let i = 0; i < 5; i += 1) attempt(false);
  pass(5_000);
  assert.equal(isOpen(), false);
  breaker.note(false);
  assert.equal(isOpen(), true);
  pass(5_000);
  assert.equal(isOpen(), false);
  breaker.release();
  assert.equal(isOpen(), false);
});

test("failures that lie more than ten seconds apart, or ten answers back, do not add up", () => {
  const slow = at();
  for (let i = 0; i < 12; i += 1) {
    slow.attempt(false);
    slow.pass(2_600);
  }
  assert.equal(slow.isOpen(), false);
  const mixed = at();
  for (let i = 0; i < 40; i += 1) mixed.attempt(i % 5 < 3);
  assert.equal(mixed.isOpen(), false, "four of ten");
});

test("an answer that was under way when it opened does not close it", () => {
  const { attempt, isOpen, breaker } = at();
  for (let i = 0; i < 5; i += 1) attempt(false);
  breaker.note(true);
  assert.equal(isOpen(), true);
});
