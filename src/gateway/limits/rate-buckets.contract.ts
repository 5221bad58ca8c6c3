import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test, type TestContext } from "node:test";
import type { RateBuckets } from "#http/token-buckets.ts";

/** What every adapter of `RateBuckets` must do; `open` gives two clients of the same buckets. */
export const testRateBuckets = (
  name: string,
  open: (t: TestContext) => Promise<{ readonly one: RateBuckets; readonly other: RateBuckets } | undefined>,
): void => {
  const slow = { perSecond: 0.01, burst: 5 };

  test(`${name}: as many as the burst go through at once, the next is told when`, async (t) => {
    const opened = await open(t);
    if (opened === undefined) return;
    const key = randomUUID();
    const taken = [];
    for (let index = 0; index < 6; index++) taken.push(await opened.one.take(key, slow));
    assert.deepEqual(
      taken.map(({ isAllowed, remaining }) => [isAllowed, remaining]),
      [
        [true, 4],
        [true, 3],
        [true, 2],
        [true, 1],
        [true, 0],
        [false, 0],
      ],
    );
    const wait = taken[5]?.retryAfterMs ?? 0;
    assert.ok(wait > 0 && wait <= 100_000, `${wait} ms`);
    assert.ok(taken.slice(0, 4).every(({ retryAfterMs }) => retryAfterMs === 0));
  });

  test(`${name}: another key is another bucket, and a refusal costs nothing`, async (t) => {
    const opened = await open(t);
    if (opened === undefined) return;
    const [key, another] = [randomUUID(), randomUUID()];
    const once = { perSecond: 0.01, burst: 1 };
    assert.equal((await opened.one.take(key, once)).isAllowed, true);
    const first = await opened.one.take(key, once);
    for (let index = 0; index < 20; index++) await opened.one.take(key, once);
    const last = await opened.one.take(key, once);
    assert.ok(last.retryAfterMs <= first.retryAfterMs, "asking again does not make it later");
    assert.equal((await opened.one.take(another, once)).isAllowed, true);
  });

  test(`${name}: fifty requests at once, from two sides, are given exactly the burst`, async (t) => {
    const opened = await open(t);
    if (opened === undefined) return;
    const key = randomUUID();
    const rate = { perSecond: 0.01, burst: 17 };
    const taken = await Promise.all(
      Array.from({ length: 50 }, async (_, index) => (index % 2 ? opened.one : opened.other).take(key, rate)),
    );
    assert.equal(taken.filter(({ isAllowed }) => isAllowed).length, 17);
  });

  test(`${name}: tokens come back`, async (t) => {
    const opened = await open(t);
    if (opened === undefined) return;
    const key = randomUUID();
    const rate = { perSecond: 1000, burst: 1 };
    assert.equal((await opened.one.take(key, rate)).isAllowed, true);
    await new Promise((resolve) => setTimeout(resolve, 20));
    assert.equal((await opened.other.take(key, rate)).isAllowed, true);
  });
};
