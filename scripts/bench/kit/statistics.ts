import { createHistogram, type RecordableHistogram } from "node:perf_hooks";

/** The middle of several rounds: one disturbed round does not move it. */
const median = (values: readonly number[]): number => {
  const sorted = values.toSorted((one, other) => one - other);
  const middle = sorted.length >> 1;
  const high = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? high : ((sorted[middle - 1] ?? Number.NaN) + high) / 2;
};

export const medianOf = <T>(rounds: readonly T[], value: (round: T) => number): number => median(rounds.map(value));

/** Latencies in whole microseconds, up to one minute, three significant digits. */
export const microsecondHistogram = (): RecordableHistogram => createHistogram({ lowest: 1, highest: 60_000_000, figures: 3 });

export interface Latency {
  /** Microseconds. */
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
}

export const latencyOf = (histogram: RecordableHistogram): Latency => ({
  p50: histogram.percentile(50),
  p99: histogram.percentile(99),
  max: histogram.max,
});

/** Of milliseconds in ascending order. */
export const spread = (taken: readonly number[]) => {
  const part = (share: number): number => taken[Math.min(taken.length - 1, Math.floor(taken.length * share))] ?? Number.NaN;
  return {
    text: `p50 ${part(0.5).toFixed(1)} ms, p90 ${part(0.9).toFixed(1)} ms, p99 ${part(0.99).toFixed(1)} ms, most ${(taken.at(-1) ?? Number.NaN).toFixed(1)} ms`,
    p99: part(0.99),
    max: taken.at(-1) ?? Number.NaN,
  };
};
