import { fileURLToPath } from "node:url";
import type { TestContext } from "node:test";
import { loadPackageDefinition, Server, ServerCredentials, type ServiceDefinition } from "@grpc/grpc-js";
import { loadSync } from "@grpc/proto-loader";
import { cleanUp } from "#testing/clean-up.ts";

export interface CollectedSpan {
  readonly name: string;
  /** 1 internal, 2 server, 3 client, 4 producer. */
  readonly kind: number;
  readonly traceId: string;
  readonly spanId: string;
  /** Empty = a root. */
  readonly parentSpanId: string;
  readonly attributes: Readonly<Record<string, unknown>>;
  /** Ids of the spans that it is linked to. */
  readonly links: readonly string[];
  readonly failed: boolean;
}

export interface CollectedMetric {
  readonly name: string;
  readonly kind: "sum" | "gauge" | "histogram";
  readonly points: readonly { readonly attributes: Readonly<Record<string, unknown>>; readonly value: number }[];
}

/** An OTLP collector over gRPC that keeps what it is sent. */
export interface Collector {
  readonly url: string;
  readonly spans: readonly CollectedSpan[];
  /** As last exported, by name. */
  readonly metrics: ReadonlyMap<string, CollectedMetric>;
  readonly resources: readonly Readonly<Record<string, unknown>>[];
  /** Every request as it lay on the wire. */
  readonly raw: readonly Buffer[];
  /** Answers nothing from now on, or answers again. */
  mute(isMute: boolean): void;
}

interface KeyValue {
  readonly key: string;
  readonly value: Readonly<Record<string, unknown>> & { readonly value?: string };
}
const factsOf = (pairs: readonly KeyValue[] = []): Record<string, unknown> =>
  Object.fromEntries(pairs.map(({ key, value }) => [key, value.value === undefined ? undefined : value[value.value]]));

interface Point {
  readonly attributes: readonly KeyValue[];
  readonly count?: string;
  readonly as_double?: number;
  readonly as_int?: string;
}
interface SpanMessage {
  readonly name: string;
  readonly kind: number;
  readonly trace_id: Buffer;
  readonly span_id: Buffer;
  readonly parent_span_id: Buffer;
  readonly links: readonly { readonly span_id: Buffer }[];
  readonly attributes: readonly KeyValue[];
  readonly status: { readonly code: number } | null;
}
type MetricMessage = { readonly name: string; readonly data: CollectedMetric["kind"] } & Partial<
  Record<CollectedMetric["kind"], { readonly data_points: readonly Point[] }>
>;
interface ExportMessage {
  readonly resource_spans?: readonly {
    readonly resource: { readonly attributes: readonly KeyValue[] };
    readonly scope_spans: readonly { readonly spans: readonly SpanMessage[] }[];
  }[];
  readonly resource_metrics?: readonly {
    readonly resource: { readonly attributes: readonly KeyValue[] };
    readonly scope_metrics: readonly { readonly metrics: readonly MetricMessage[] }[];
  }[];
}

const serviceOf = (file: string, path: readonly string[]): ServiceDefinition => {
  const definition = loadSync(fileURLToPath(new URL(file, import.meta.url)), {
    keepCase: true,
    longs: String,
    oneofs: true,
    defaults: true,
  });
  let at: unknown = loadPackageDefinition(definition);
  for (const name of path) at = (at as Record<string, unknown>)[name];
  return (at as { readonly service: ServiceDefinition }).service;
};

/** Starts it on a free loopback port; it ends with the test. */
export const startCollector = async (t: Pick<TestContext, "after">, port = 0): Promise<Collector> => {
  const spans: CollectedSpan[] = [];
  const metrics = new Map<string, CollectedMetric>();
  const resources: Record<string, unknown>[] = [];
  const raw: Buffer[] = [];
  let isMute = false;

  const take = (message: ExportMessage): void => {
    for (const { resource, scope_spans } of message.resource_spans ?? []) {
      resources.push(factsOf(resource.attributes));
      for (const span of scope_spans.flatMap((scope) => scope.spans))
        spans.push({
          name: span.name,
          kind: span.kind,
          traceId: span.trace_id.toString("hex"),
          spanId: span.span_id.toString("hex"),
          parentSpanId: span.parent_span_id.toString("hex"),
          links: span.links.map(({ span_id: id }) => id.toString("hex")),
          attributes: factsOf(span.attributes),
          failed: span.status?.code === 2,
        });
    }
    for (const { resource, scope_metrics } of message.resource_metrics ?? []) {
      resources.push(factsOf(resource.attributes));
      for (const metric of scope_metrics.flatMap((scope) => scope.metrics))
        metrics.set(metric.name, {
          name: metric.name,
          kind: metric.data,
          points: (metric[metric.data]?.data_points ?? []).map((point) => ({
            attributes: factsOf(point.attributes),
            value: Number(point.count ?? point.as_double ?? point.as_int),
          })),
        });
    }
  };

  const server = new Server();
  for (const [file, signal, name] of [
    ["traces.proto", "trace", "TraceService"],
    ["metrics.proto", "metrics", "MetricsService"],
  ] as const) {
    const service = serviceOf(file, ["opentelemetry", "proto", "collector", signal, "v1", name]);
    const received = Object.fromEntries(
      Object.entries(service).map(([method, definition]) => [
        method,
        {
          ...definition,
          requestDeserialize: (bytes: Buffer): unknown => {
            raw.push(bytes);
            return definition.requestDeserialize(bytes);
          },
        },
      ]),
    );
    server.addService(received, {
      Export: (call: { readonly request: ExportMessage }, answer: (error: null, value: object) => void) => {
        if (isMute) return;
        take(call.request);
        answer(null, {});
      },
    });
  }
  const bound = await new Promise<number>((resolve, reject) =>
    server.bindAsync(`127.0.0.1:${port}`, ServerCredentials.createInsecure(), (error, found) =>
      error === null ? resolve(found) : reject(error),
    ),
  );
  cleanUp(t, () => server.forceShutdown());
  return {
    url: `http://127.0.0.1:${bound}`,
    spans,
    metrics,
    resources,
    raw,
    mute: (wanted) => void (isMute = wanted),
  };
};
