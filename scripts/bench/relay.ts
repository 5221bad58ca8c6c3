import { cpus, loadavg } from "node:os";
import { parseArgs, type ParseArgsOptionsConfig } from "node:util";
import { createBacklog } from "#events/relay/backlog.ts";
import type { EventSink, SinkRecord } from "#events/relay/event-sink.ts";
import { createKafkaSink } from "#events/relay/kafka-sink.ts";
import { createRelay } from "#events/relay/relay.ts";
import { statement } from "#store/database.ts";
import { createPostgres } from "#store/postgres.ts";
import { migrate } from "#store/migrate.ts";
import { silentLog } from "#telemetry/log.ts";
import { createMetrics } from "#telemetry/metrics.ts";
import { startMockBroker } from "#testing/kafka/kafka-broker.ts";
import { startPostgresServer } from "#testing/postgres-server.ts";
import { findProgram } from "#testing/programs.ts";
import { migrationFolders } from "#testing/schema.ts";
import { dirname } from "node:path";
import { say } from "./kit/progress.ts";
import type { Section } from "./kit/report.ts";
import { medianOf } from "./kit/statistics.ts";

export const relayOptions = {
  rounds: { type: "string", default: "5" },
  events: { type: "string", default: "20000" },
} as const satisfies ParseArgsOptionsConfig;

const KEYS = 1_000;
const BATCH = 500;
const FILL = statement(
  "bench.outbox_fill",
  `insert into events.outbox (id, tenant, sink, topic, lane, key, type, data)
   select gen_random_uuid(), 'tenant:acme', 'kafka', 'tools.calls.v1', n % ${KEYS} % 64, 'key-' || n % ${KEYS}, 'tool.called',
     json_build_object('call_id', n, 'tool', 'people.demo.list_employees', 'outcome', 'ok', 'subject_ref', 'sr1.aaaaaaaaaaaaaaaaaaaaaa',
       'correlation_id', 'corr', 'duration_ms', 12, 'output_digest', repeat('0', 64))
   from generate_series(1, $1::int) as n`,
);
const EMPTY = statement("bench.outbox_empty", "truncate events.outbox");
const LEFT = statement<{ left: boolean }>("bench.outbox_left", "select exists (select from events.outbox where sent_at is null) as left");

/** Events of a full outbox to a broker beside a bare producer of the same records. `--rounds 5`, `--events 20000`. */
export const benchRelay = async (argv: readonly string[]): Promise<Section> => {
  const { values } = parseArgs({ args: [...argv], options: relayOptions });
  const events = Number(values.events);
  const library = findProgram("confluent-kafka");
  if (library === undefined) throw new Error("librdkafka's mock broker cannot be installed with pip");
  await using stack = new AsyncDisposableStack();
  const broker = await startMockBroker(
    { after: (end) => stack.defer(async () => void (await (end as (() => unknown) | undefined)?.())) },
    dirname(dirname(library)),
  );
  const server = await startPostgresServer();
  stack.defer(() => server.stop());
  const database = stack.use(await createPostgres({ url: server.url, poolSize: 4, log: silentLog }));
  await migrate(database, migrationFolders(["events"]));
  const open = (): EventSink =>
    createKafkaSink({
      brokers: [broker.address],
      clientId: "bench",
      idempotent: false,
      compression: "zstd",
      deliveryTimeoutMs: 10_000,
      createTopics: true,
      replication: 1,
    });
  const taken: SinkRecord[] = [];

  const relayed = async (): Promise<number> => {
    await database.run(EMPTY);
    await database.run(FILL, [events]);
    await using inner = open();
    const sink: EventSink = {
      ...inner,
      send: async (records) => {
        if (taken.length < events) taken.push(...records);
        return inner.send(records);
      },
    };
    const parts = { database, log: silentLog, metrics: createMetrics() };
    await using backlog = createBacklog({ ...parts, maxRows: 1e9 });
    const names = { instanceId: "bench.example", publicOrigin: "https://bench.example", topicPrefix: "" };
    const started = performance.now();
    await using _relay = createRelay({ ...parts, ...names, sink, backlog, maxAttempts: 1, deliveryTimeoutMs: 10_000, everyMs: 1 });
    while ((await database.run(LEFT))[0]?.left === true) await new Promise((resolve) => setTimeout(resolve, 20));
    return (events * 1000) / (performance.now() - started);
  };
  const bare = async (): Promise<number> => {
    await using sink = open();
    const started = performance.now();
    for (let at = 0; at < events; at += BATCH) await sink.send(taken.slice(at, at + BATCH));
    return (events * 1000) / (performance.now() - started);
  };

  const rounds: { own: number; reference: number }[] = [];
  for (let round = 0; round <= Number(values.rounds); round++) {
    say(`round ${round} ...`);
    rounds.push({ own: await relayed(), reference: await bare() });
  }
  // The first one warms up.
  const counted = rounds.slice(1);
  const [own, reference] = [medianOf(counted, (one) => one.own), medianOf(counted, (one) => one.reference)];
  return {
    title: "Relay to Kafka",
    conditions: [
      `Load average of the machine when the run ended: ${loadavg()
        .map((load) => load.toFixed(1))
        .join(", ")} on ${cpus().length} cores.`,
      `${events} events of about 350 bytes under ${KEYS} keys, waiting in the outbox on PostgreSQL; librdkafka's mock broker in a process of its own, zstd; median of ${counted.length} rounds, taken in turn.`,
      `Reference: the same records by the same producer (\`@platformatic/kafka\`), ${BATCH} a batch, one batch after the other, from memory.`,
    ],
    figures: [
      {
        what: "events a second, outbox to broker, marked as sent",
        own: own.toFixed(0),
        reference: reference.toFixed(0),
        ratio: (own / reference).toFixed(2),
        target: ">= 0.40",
        isMet: own / reference >= 0.4,
      },
    ],
  };
};
