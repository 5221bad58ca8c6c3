/** Counts calls and says whether one more may be repeated. */
export interface RetryBudget {
  called(): void;
  /** Takes one repetition, if there is one left. */
  take(): boolean;
}

const WINDOW_MS = 10_000;
const SLICES = 10;
const SHARE = 0.1;

/**
 * At most a tenth of the calls of the last 10 s are repeated: an upstream in trouble is not asked twice as much. `floor`
 * repetitions are always allowed in that time: as many as can be under way when an instance dies.
 */
export const createRetryBudget = (floor: number, now: () => number = () => performance.now()): RetryBudget => {
  const calls = Array.from({ length: SLICES }, () => 0);
  const retries = Array.from({ length: SLICES }, () => 0);
  let at = Math.floor(now() / (WINDOW_MS / SLICES));
  const turn = (): number => {
    const slice = Math.floor(now() / (WINDOW_MS / SLICES));
    for (let next = Math.max(at + 1, slice - SLICES + 1); next <= slice; next++) calls[next % SLICES] = retries[next % SLICES] = 0;
    at = slice;
    return slice % SLICES;
  };
  const sum = (list: readonly number[]): number => list.reduce((total, value) => total + value, 0);
  return {
    called: () => {
      const slice = turn();
      calls[slice] = (calls[slice] ?? 0) + 1;
    },
    take: () => {
      const slice = turn();
      if (sum(retries) >= Math.max(floor, SHARE * sum(calls))) return false;
      retries[slice] = (retries[slice] ?? 0) + 1;
      return true;
    },
  };
};
