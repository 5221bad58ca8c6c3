import assert from "node:assert/strict";
import { test } from "node:test";
import { Problem } from "#contract/problem.ts";
import { createSessionShare, type HeldPlace } from "./session-share.ts";

/** A share of two, and what of it was ended. */
const shareOfTwo = () => {
  let seconds = 0;
  const ended: string[] = [];
  const share = createSessionShare({ max: 2, now: () => new Date(seconds * 1000) });
  return {
    ended,
    pass: (more: number) => void (seconds += more),
    claim: (name: string, principal = "ben"): HeldPlace => share.claim(principal, () => ended.push(name)),
  };
};
const stream = (place: HeldPlace): HeldPlace => {
  place.streams++;
  return place;
};
const retryAfter = (seconds: string) => (error: unknown) =>
  error instanceof Problem && error.code === "too_many_sessions" && new Headers(error.options.headers).get("retry-after") === seconds;

test("without a stream the longest unused one makes room, however new", () => {
  const { claim, ended, pass } = shareOfTwo();
  const first = claim("first");
  pass(1);
  claim("second");
  pass(1);
  first.lastUsed = 2000;
  claim("third");
  claim("fourth");
  assert.deepEqual(ended, ["second", "first"]);
});

test("what is streaming stays while there is something idle, and is refused room for a minute", () => {
  const { claim, ended, pass } = shareOfTwo();
  stream(claim("streaming"));
  pass(30);
  const idle = claim("idle");
  claim("next");
  assert.deepEqual(ended, ["idle"]);
  idle.release();
  pass(1);
  const { claim: again, ended: gone, pass: later } = shareOfTwo();
  stream(again("first"));
  later(10);
  stream(again("second"));
  later(10);
  assert.throws(() => again("third"), retryAfter("40"));
  assert.deepEqual(gone, [], "nobody is cut off for one who is refused");
  later(40);
  again("third");
  assert.deepEqual(gone, ["first"], "a client that lost its connection is not locked out by what it left behind");
});

test("a share is one principal's own, and what is given back is free again", () => {
  const { claim, ended } = shareOfTwo();
  const [one, two] = [stream(claim("one")), stream(claim("two"))];
  claim("other", "cleo");
  assert.throws(() => claim("three"), retryAfter("60"));
  one.release();
  one.release();
  stream(claim("three"));
  assert.throws(() => claim("four"), retryAfter("60"));
  two.release();
  claim("four");
  assert.deepEqual(ended, []);
});
