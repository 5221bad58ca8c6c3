/** Waiting before a stream is opened again: what the server asked for, else 3 s doubling to 60 s, with full jitter. */

const FIRST_MS = 3_000;
const MAX_MS = 60_000;

export const reconnectAfter = (failures: number, askedMs: number | undefined, random: () => number): number => {
  if (askedMs !== undefined && askedMs >= 0) return Math.min(askedMs, MAX_MS);
  return Math.round(random() * Math.min(MAX_MS, FIRST_MS * 2 ** Math.min(failures, 10)));
};
