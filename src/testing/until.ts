import { inspect } from "node:util";
import { setTimeout as sleep } from "node:timers/promises";

/** Waits until a condition holds; fails with its last value after `milliseconds`. For work that goes on in the background. */
export const until = async <T>(look: () => T | Promise<T>, holds: (value: T) => boolean = Boolean, milliseconds = 60_000): Promise<T> => {
  const end = performance.now() + milliseconds;
  for (;;) {
    const value = await look();
    if (holds(value)) return value;
    if (performance.now() > end) throw new Error(`it did not come to be: ${inspect(value, { depth: 4 })}`);
    await sleep(20);
  }
};
