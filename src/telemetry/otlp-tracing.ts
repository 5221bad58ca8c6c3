import { AsyncLocalStorage } from "node:async_hooks";
import {
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  type Context,
  type Link,
  type Span as OtelSpan,
  type SpanContext,
  type TraceAPI,
  type Tracer,
} from "@opentelemetry/api";
import { parseTraceparent, type Span, type SpanOptions, type Tracing } from "./tracing.ts";

const kinds = { internal: SpanKind.INTERNAL, server: SpanKind.SERVER, client: SpanKind.CLIENT, producer: SpanKind.PRODUCER } as const;

/** What a failure is called in a span: the code of a known fault, never its text. */
const typeOf = (error: unknown): string => {
  const { code } = error as { code?: unknown };
  return typeof code === "string" && /^[A-Za-z0-9_]{1,64}$/.test(code) ? code : "internal";
};

/** Traces through the SDK, with the span under way kept by the flow of control. */
export const createOtlpTracing = (tracer: Tracer, trace: TraceAPI, root: Context): Tracing => {
  const current = new AsyncLocalStorage<OtelSpan>();

  const remoteOf = (text: string | undefined): SpanContext | undefined => {
    const parsed = parseTraceparent(text);
    if (parsed === undefined) return undefined;
    const { traceId, spanId, isSampled } = parsed;
    return { traceId, spanId, traceFlags: isSampled ? TraceFlags.SAMPLED : TraceFlags.NONE, isRemote: true };
  };
  const contextOf = (options: SpanOptions): Context => {
    const above = current.getStore();
    if (above !== undefined) return trace.setSpan(root, above);
    const parent = remoteOf(options.parent);
    return parent === undefined ? root : trace.setSpanContext(root, parent);
  };
  const linksOf = ({ links = [] }: SpanOptions): Link[] =>
    links.flatMap((text) => {
      const context = remoteOf(text);
      return context === undefined ? [] : [{ context }];
    });

  const handleOf = (span: OtelSpan): Span => ({
    rename: (name) => void span.updateName(name),
    set: (facts) => void span.setAttributes(facts),
    fail: (type) => void span.setAttribute("error.type", type).setStatus({ code: SpanStatusCode.ERROR }),
  });

  return {
    isRecording: true,
    span: async (name, options, work) => {
      const span = tracer.startSpan(
        name,
        { kind: kinds[options.kind ?? "internal"], attributes: options.facts, links: linksOf(options) },
        contextOf(options),
      );
      const handle = handleOf(span);
      try {
        return await current.run(span, () => work(handle));
      } catch (error) {
        handle.fail(typeOf(error));
        throw error;
      } finally {
        span.end();
      }
    },
    traceparent: () => {
      const context = current.getStore()?.spanContext();
      if (context === undefined) return undefined;
      return `00-${context.traceId}-${context.spanId}-${(context.traceFlags & TraceFlags.SAMPLED) === 0 ? "00" : "01"}`;
    },
    traceId: () => current.getStore()?.spanContext().traceId,
  };
};
