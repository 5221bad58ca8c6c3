/** What a span may say: OpenTelemetry's names and plain facts. Never a URL, header, body, argument, secret URI or person. */
export type SpanFacts = Readonly<Record<string, string | number | boolean>>;

export interface Span {
  /** Its name, once it is known better, e.g. when the route was found. */
  rename(name: string): void;
  set(facts: SpanFacts): void;
  /** It failed; `type` is a code of a closed list. */
  fail(type: string): void;
}

export interface SpanOptions {
  /** `server`: asked by somebody; `client`: asks somebody else; `producer`: hands over what somebody else takes up later. */
  readonly kind?: "internal" | "server" | "client" | "producer";
  /** `traceparent` of spans that it goes on with and does not lie below. */
  readonly links?: readonly string[];
  /** `traceparent` of whoever asked, where that is somebody whose word on it counts. Only for a span without another above it. */
  readonly parent?: string | undefined;
  readonly facts?: SpanFacts;
}

/** Traces. Spans begun inside a span's work lie below it, in all modules of the process. */
export interface Tracing {
  /** False: spans are kept nowhere, and naming more of them is work for nothing. */
  readonly isRecording: boolean;
  /** Runs the work inside a span, which ends with it. What the work throws is thrown on. */
  span<T>(name: string, options: SpanOptions, work: (span: Span) => Promise<T>): Promise<T>;
  /** The span under way as a `traceparent` header, for those who are asked next. */
  traceparent(): string | undefined;
  /** Id of the trace under way, for log lines; `undefined` while nobody else knows it. */
  traceId(): string | undefined;
}

const noSpan: Span = { rename: () => {}, set: () => {}, fail: () => {} };

/** Traces nothing, carries nothing and costs nothing. */
export const noTracing: Tracing = {
  isRecording: false,
  span: (_name, _options, work) => work(noSpan),
  traceparent: () => undefined,
  traceId: () => undefined,
};

/** Version 00, ids that are not zero: https://www.w3.org/TR/trace-context/. Anything else is no parent. */
export const parseTraceparent = (
  text: string | undefined,
): { readonly traceId: string; readonly spanId: string; readonly isSampled: boolean } | undefined => {
  const [, traceId, spanId, flags] = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/.exec(text ?? "") ?? [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return undefined;
  if (/^0+$/.test(traceId) || /^0+$/.test(spanId)) return undefined;
  return { traceId, spanId, isSampled: (Number.parseInt(flags, 16) & 1) === 1 };
};
