import { setImmediate as nextTurn } from "node:timers/promises";

/** Asked between two pieces of work: `undefined` to go on, or what to wait for because others wait for their turn. */
export type Turn = () => Promise<void> | undefined;

/** Turns for others once a slice of so many milliseconds is over. Asking costs less than a tenth of a microsecond. */
export const createTurns = (sliceMs: number): Turn => {
  let started = performance.now();
  const pause = async (): Promise<void> => {
    await nextTurn();
    started = performance.now();
  };
  return () => (performance.now() - started < sliceMs ? undefined : pause());
};
