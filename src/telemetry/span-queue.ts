import { TraceFlags } from "@opentelemetry/api";
import { BatchSpanProcessor, type ReadableSpan, type SpanExporter, type SpanProcessor } from "@opentelemetry/sdk-trace-base";

/** Spans that wait for the collector; what comes while it is full is dropped. */
const MAX_WAITING = 2048;
const BATCH = 512;

/** An exporter as both SDKs have it: success is code 0. */
interface Exporter<B> {
  export(batch: B, done: (result: { readonly code: number; readonly error?: Error }) => void): void;
}

/** The same exporter, heard: `told` gets each batch, and why it did not arrive. */
export const tellOutcome = <B, E extends Exporter<B>>(exporter: E & Exporter<B>, reported: (batch: B, cause: unknown) => void): E => {
  const send = exporter.export.bind(exporter);
  exporter.export = (batch, done) =>
    send(batch, (result) => {
      reported(batch, result.code === 0 ? undefined : (result.error ?? new Error("not exported")));
      done(result);
    });
  return exporter;
};

/** A bounded queue of ended spans that says when it is full. Ending a span never waits and never throws. */
export const createSpanQueue = (
  exporter: SpanExporter,
  options: { readonly everyMs: number; readonly timeoutMs: number; readonly onFull: () => void },
): SpanProcessor => {
  let waiting = 0;
  const batches = new BatchSpanProcessor(
    {
      export: (spans, done) => {
        waiting -= spans.length;
        exporter.export(spans, done);
      },
      shutdown: () => exporter.shutdown(),
      forceFlush: async () => exporter.forceFlush?.(),
    },
    {
      maxQueueSize: MAX_WAITING,
      maxExportBatchSize: BATCH,
      scheduledDelayMillis: options.everyMs,
      exportTimeoutMillis: options.timeoutMs,
    },
  );
  return {
    onStart: (span, context) => batches.onStart(span, context),
    onEnd: (span: ReadableSpan) => {
      if ((span.spanContext().traceFlags & TraceFlags.SAMPLED) === 0) return;
      if (waiting >= MAX_WAITING) {
        options.onFull();
        return;
      }
      waiting += 1;
      batches.onEnd(span);
    },
    forceFlush: () => batches.forceFlush(),
    shutdown: () => batches.shutdown(),
  };
};
