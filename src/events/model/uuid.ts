import { randomUUID } from "node:crypto";

const LARGEST_COUNT = 0xfff;
/** From here on a random UUID is what a UUIDv7 ends in too: variant and 62 random bits, which the platform takes from a pool. */
const AT_VARIANT = 18;

/**
 * UUIDv7 whose ids sort in the order in which they were made, also when the clock stands still or goes back: 48 bits of
 * milliseconds, 12 bits of a counter, 62 random bits.
 */
export const createUuids = (now: () => Date): (() => string) => {
  let millisecond = 0;
  let count = 0;
  return () => {
    const at = now().getTime();
    if (at > millisecond) {
      millisecond = at;
      count = 0;
    } else if (++count > LARGEST_COUNT) {
      millisecond++;
      count = 0;
    }
    const time = millisecond.toString(16).padStart(12, "0");
    return `${time.slice(0, 8)}-${time.slice(8)}-7${count.toString(16).padStart(3, "0")}${randomUUID().slice(AT_VARIANT)}`;
  };
};
