import { randomUUID } from "node:crypto";
import { ROOT_CONTEXT, trace, type Meter } from "@opentelemetry/api";
import { OTLPMetricExporter } from "@opentelemetry/exporter-metrics-otlp-grpc";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-grpc";
import { resourceFromAttributes } from "@opentelemetry/resources";
import { MeterProvider, PeriodicExportingMetricReader } from "@opentelemetry/sdk-metrics";
import { BasicTracerProvider, ParentBasedSampler, TraceIdRatioBasedSampler } from "@opentelemetry/sdk-trace-base";
import { metricTable, type MetricMirror, type MetricName, type MetricRow } from "./metrics.ts";
import { createSpanQueue, tellOutcome } from "./span-queue.ts";
import { createOtlpTracing } from "./otlp-tracing.ts";
import type { Telemetry, TelemetryParts } from "./telemetry.ts";

const METRICS_EVERY_MS = 15_000;
const SPANS_EVERY_MS = 5000;
const EXPORT_TIMEOUT_MS = 5000;
const FAREWELL_MS = 2000;

/** Instruments are made from the one table when their first value comes. */
const createMirror = (meter: Meter): MetricMirror => {
  const rows: Readonly<Record<string, MetricRow>> = metricTable;
  const made = new Map<MetricName, (value: number, labels: Readonly<Record<string, string>>) => void>();
  const make = (name: MetricName) => {
    const row = rows[name] as MetricRow;
    const options = { description: row.help, ...(name.endsWith("_ms") ? { unit: "ms" } : name.endsWith("_seconds") ? { unit: "s" } : {}) };
    if (row.kind === "counter") {
      const counter = meter.createCounter(name, options);
      return (value: number, labels: Readonly<Record<string, string>>) => counter.add(value, labels);
    }
    if (row.kind === "gauge") {
      const gauge = meter.createGauge(name, options);
      return (value: number, labels: Readonly<Record<string, string>>) => gauge.record(value, labels);
    }
    const advice = row.buckets === undefined ? {} : { advice: { explicitBucketBoundaries: [...row.buckets] } };
    const histogram = meter.createHistogram(name, { ...options, ...advice });
    return (value: number, labels: Readonly<Record<string, string>>) => histogram.record(value, labels);
  };
  return (name, value, labels) => {
    const note = made.get(name) ?? make(name);
    made.set(name, note);
    note(value, labels);
  };
};

/** Traces and metrics to an OTLP gRPC collector. Nothing here is awaited by a request. */
export const openOtlp = (parts: TelemetryParts & { readonly endpoint: string }): Telemetry => {
  const resource = resourceFromAttributes({
    "service.name": parts.service,
    "service.version": parts.version,
    "deployment.environment": parts.environment,
    "service.instance.id": randomUUID(),
  });
  let isDown = false;
  /** Said once when the collector goes, once when it is back. */
  const received = (signal: "traces" | "metrics", count: number, cause: unknown): void => {
    if (cause === undefined) {
      if (isDown) parts.log.info("telemetry_back", { signal });
      isDown = false;
      return;
    }
    if (!isDown) parts.log.warn("telemetry_lost", { signal, cause });
    isDown = true;
    parts.onDropped?.(signal, count);
  };
  const connection = { url: parts.endpoint, timeoutMillis: EXPORT_TIMEOUT_MS, concurrencyLimit: 4 };
  const spans = createSpanQueue(
    tellOutcome(new OTLPTraceExporter(connection), (batch, cause) => received("traces", batch.length, cause)),
    {
      everyMs: parts.everyMs ?? SPANS_EVERY_MS,
      timeoutMs: EXPORT_TIMEOUT_MS,
      onFull: () => parts.onDropped?.("traces", 1),
    },
  );
  const tracers = new BasicTracerProvider({
    resource,
    sampler: new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(parts.sampleRatio) }),
    spanProcessors: [spans],
  });
  const everyMs = parts.everyMs ?? METRICS_EVERY_MS;
  const meters = new MeterProvider({
    resource,
    readers: [
      new PeriodicExportingMetricReader({
        exporter: tellOutcome(new OTLPMetricExporter(connection), (_batch, cause) => received("metrics", 1, cause)),
        exportIntervalMillis: everyMs,
        exportTimeoutMillis: Math.min(EXPORT_TIMEOUT_MS, everyMs),
      }),
    ],
  });
  return {
    tracing: createOtlpTracing(tracers.getTracer("sallyport", parts.version), trace, ROOT_CONTEXT),
    mirror: createMirror(meters.getMeter("sallyport", parts.version)),
    [Symbol.asyncDispose]: async () => {
      let timer: NodeJS.Timeout | undefined;
      const late = new Promise<void>((resolve) => {
        timer = setTimeout(resolve, FAREWELL_MS);
      });
      await Promise.race([Promise.allSettled([tracers.shutdown(), meters.shutdown()]), late]);
      clearTimeout(timer);
    },
  };
};
