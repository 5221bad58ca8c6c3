import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/**
 * Collects garbage when it is called. The flag that gives it is taken back at once: Node keeps compiled code for one set of flags and throws
 * away what it finds of another.
 */
export const garbageCollector = (): (() => void) => {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  setFlagsFromString("--no-expose-gc");
  return collect;
};
