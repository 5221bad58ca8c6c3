import { randomBytes, randomUUID } from "node:crypto";
import type { TestContext } from "node:test";
import type { Database } from "#store/database.ts";
import { createIntegrator, type Integrator } from "#events/audit/integrator.ts";
import { createRecorder, type AuditRecorder } from "#events/audit/recorder.ts";
import type { Change } from "#events/changes/change.ts";
import type { EventDraft } from "#events/model/event-draft.ts";
import { createChange } from "#events/changes/create-change.ts";
import type { SinkInUse } from "#events/model/emit.ts";
import { createLiveBus, type LiveBus } from "#events/streams/live-bus.ts";
import { silentLog } from "#telemetry/log.ts";
import { createMetrics } from "#telemetry/metrics.ts";
import { cleanUp } from "./clean-up.ts";

/** The events module over a test's database, as instance.ts joins it. */
export interface TestEvents {
  readonly bus: LiveBus;
  readonly integrator: Integrator;
  readonly recorder: AuditRecorder;
  readonly change: Change;
}

export interface TestEventsOptions {
  readonly now?: () => Date;
  readonly kek?: Uint8Array;
  readonly service?: string;
  /** Somebody takes events besides the streams. */
  readonly sink?: SinkInUse;
  readonly traceparent?: () => string | undefined;
}

/** A sink that is configured; nothing relays to it. */
export const kafkaInUse: SinkInUse = { name: "kafka", requireCapacity: () => undefined, notify: () => undefined };

/** An event of the live stream and of Kafka. */
export const graphChanged = (key: string, version: number): EventDraft => ({
  type: "graph.changed",
  tenant: "tenant:acme",
  stream: "config",
  kind: "graph",
  key,
  data: { graph_version: version, kinds: [] },
});

/** Live bus, integrator, recorder and `change` on this database (migrated with `events`); all closed when the test ends. */
export const testEvents = async (
  t: Pick<TestContext, "after">,
  database: Database,
  options: TestEventsOptions = {},
): Promise<TestEvents> => {
  const log = silentLog;
  const metrics = createMetrics();
  const bus = await createLiveBus({ database, log, metrics, pollMs: 200 });
  const integrator = createIntegrator({ database, log, origin: "test.sallyport", bus });
  const recorder = await createRecorder({
    database,
    writerId: `test:${randomUUID()}`,
    service: options.service ?? "test",
    log,
    metrics,
    now: options.now ?? (() => new Date()),
    kek: options.kek ?? randomBytes(32),
    bus,
    integrator,
    sink: options.sink,
    traceparent: options.traceparent,
  });
  cleanUp(t, async () => {
    await recorder[Symbol.asyncDispose]();
    await integrator[Symbol.asyncDispose]();
    await bus[Symbol.asyncDispose]();
  });
  return {
    bus,
    integrator,
    recorder,
    change: createChange({ database, recorder, bus, sink: options.sink, traceparent: options.traceparent }),
  };
};
