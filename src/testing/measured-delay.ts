import type { TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { cleanUp } from "./clean-up.ts";

const BEAT_MS = 20;

export interface MeasuredDelay {
  /** Milliseconds that this machine cost at worst since the last call: a beat that came late here, plus the round trip there. */
  worst(): number;
  stop(): Promise<void>;
}

/**
 * A stated limit in milliseconds is a promise of the product, not of the machine that a test happens to run on. This
 * measures the machine, during the same time: how late this process's own beat of 20 ms came, and how long a request took
 * that touches nothing of what is tested. A test asserts the limit plus this, so it is strict on an idle machine and does
 * not fail on a busy one. `unaffected` = that request, asked again and again, one after another.
 */
export const measureDelay = (t: Pick<TestContext, "after">, unaffected: () => Promise<unknown>): MeasuredDelay => {
  let isRunning = true;
  let late = 0;
  let trip = 0;
  let beatAt = performance.now();
  let askedAt: number | undefined;
  const beat = setInterval(() => {
    const now = performance.now();
    late = Math.max(late, now - beatAt - BEAT_MS);
    beatAt = now;
  }, BEAT_MS);
  const asking = (async () => {
    while (isRunning) {
      askedAt = performance.now();
      await unaffected();
      trip = Math.max(trip, performance.now() - askedAt);
      askedAt = undefined;
      await sleep(BEAT_MS);
    }
  })();
  // Whoever calls `stop` hears of a request that failed.
  asking.catch(() => {});
  const stop = async (): Promise<void> => {
    isRunning = false;
    clearInterval(beat);
    await asking;
  };
  cleanUp(t, () => stop().catch(() => {}));
  return {
    worst: () => {
      const now = performance.now();
      // What is under way counts as well.
      const measured = Math.max(late, now - beatAt - BEAT_MS) + Math.max(trip, askedAt === undefined ? 0 : now - askedAt);
      late = 0;
      trip = 0;
      return measured;
    },
    stop,
  };
};
