import type { Tracing } from "#telemetry/tracing.ts";
import type { GraphReader } from "./graph-reader.ts";

/** The same reader, each question a span. Where none is kept it is the reader itself. */
export const tracedReader = (reader: GraphReader, tracing: Tracing): GraphReader => {
  if (!tracing.isRecording) return reader;
  return new Proxy(reader, {
    get: (target, name) => {
      const method: unknown = Reflect.get(target, name);
      if (typeof method !== "function") return method;
      return (...asked: readonly unknown[]) =>
        tracing.span("graph.read", {}, () => Reflect.apply(method, target, asked) as Promise<unknown>);
    },
  });
};
