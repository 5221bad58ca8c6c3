import { createBacklog, type Backlog } from "#events/relay/backlog.ts";
import type { EventSink } from "#events/relay/event-sink.ts";
import { createRelay } from "#events/relay/relay.ts";
import type { Database } from "#store/database.ts";
import { silentLog } from "#telemetry/log.ts";
import { createMetrics } from "#telemetry/metrics.ts";

/** A relay over a test's database as an instance has one, in a hurry. */
export const relayOver = (parts: {
  readonly database: Database;
  readonly sink: EventSink;
  readonly leaseSeconds?: number;
  readonly topicPrefix?: string;
}): AsyncDisposable & { readonly backlog: Backlog } => {
  const common = { log: silentLog, metrics: createMetrics(), database: parts.database };
  const backlog = createBacklog({ ...common, maxRows: 1_000_000, everyMs: 100, idleEveryMs: 100 });
  const relay = createRelay({
    ...common,
    topicPrefix: "",
    ...parts,
    backlog,
    instanceId: "acme.example",
    publicOrigin: "https://acme.example",
    maxAttempts: 1,
    deliveryTimeoutMs: 3_000,
    everyMs: 20,
  });
  return {
    backlog,
    [Symbol.asyncDispose]: async () => {
      await relay[Symbol.asyncDispose]();
      await backlog[Symbol.asyncDispose]();
    },
  };
};
