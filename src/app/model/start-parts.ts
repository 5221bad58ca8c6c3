import type { Log } from "#telemetry/log.ts";
import type { Metrics } from "#telemetry/metrics.ts";
import type { Tracing } from "#telemetry/tracing.ts";

/** What every step of a start has at hand. */
export interface StartParts {
  readonly log: Log;
  readonly metrics: Metrics;
  readonly tracing: Tracing;
  readonly now: () => Date;
  /** A line for the person who starts it. */
  readonly say: (line: string) => void;
  /** What is opened is closed by it, last first. */
  readonly stack: AsyncDisposableStack;
}
