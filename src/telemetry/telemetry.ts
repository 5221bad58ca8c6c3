import type { Log } from "./log.ts";
import type { MetricMirror } from "./metrics.ts";
import type { Tracing } from "./tracing.ts";

export interface TelemetryParts {
  /** Collector that speaks OTLP over gRPC; absent = nothing is sent, and none of the libraries for it is loaded; traces of others go on to who is asked. */
  readonly endpoint: string | undefined;
  /** `service.name`, `service.version`, `deployment.environment` of all that is sent. */
  readonly service: string;
  readonly version: string;
  readonly environment: string;
  /** Part of the traces that is kept, 0 to 1. */
  readonly sampleRatio: number;
  readonly log: Log;
  /** Told how many spans, or exports of metrics, were lost. */
  readonly onDropped?: (signal: "traces" | "metrics", count: number) => void;
  /** Milliseconds between two exports; 15 s for metrics and 5 s for traces unless given. */
  readonly everyMs?: number;
}

export interface Telemetry {
  readonly tracing: Tracing;
  /** Where metrics that also leave by OTLP are noted. */
  readonly mirror: MetricMirror | undefined;
  /** Sends what is left, for at most 2 s. */
  [Symbol.asyncDispose](): Promise<void>;
}
