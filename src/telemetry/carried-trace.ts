import { AsyncLocalStorage } from "node:async_hooks";
import { randomUUID } from "node:crypto";
import { noTracing, parseTraceparent, type Tracing } from "./tracing.ts";

interface Carried {
  /** As it came, or as it was made for the first who was asked. */
  traceparent: string | undefined;
}

const hex = (): string => randomUUID().replaceAll("-", "");

/** A new trace. Not sampled: nothing of it is recorded here, and whoever is asked need not on our word. */
const newTraceparent = (): string => `00-${hex()}-${hex().slice(16)}-00`;

/**
 * Records and sends nothing, and still takes part as https://www.w3.org/TR/trace-context/ asks of who does not trace: the
 * trace of whoever asked goes on unchanged (a span id of ours would name a span that nobody has), without one a request
 * has one trace for all who are asked on its behalf. Made when first wanted: a request that asks nobody costs nothing.
 */
export const createCarriedTrace = (): Tracing => {
  const current = new AsyncLocalStorage<Carried>();
  return {
    ...noTracing,
    span: (name, options, work) => {
      if (options.kind !== "server" || current.getStore() !== undefined) return noTracing.span(name, options, work);
      const traceparent = parseTraceparent(options.parent) === undefined ? undefined : options.parent;
      return current.run({ traceparent }, () => noTracing.span(name, options, work));
    },
    traceparent: () => {
      const carried = current.getStore();
      if (carried === undefined) return undefined;
      carried.traceparent ??= newTraceparent();
      return carried.traceparent;
    },
    traceId: () => current.getStore()?.traceparent?.slice(3, 35),
  };
};
