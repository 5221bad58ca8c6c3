import assert from "node:assert/strict";
import { dirname } from "node:path";
import type { TestContext } from "node:test";
import { Validator, type Schema } from "@cfworker/json-schema";
import { Admin } from "@platformatic/kafka";
import type { z } from "zod";
import { eventSchemaOf } from "#contract/event-schemas.ts";
import { eventTypes } from "#contract/event-types.ts";
import { statement, type Database } from "#store/database.ts";
import type { EventDraft } from "#events/model/event-draft.ts";
import { cleanUp } from "#testing/clean-up.ts";
import { startChild, type Child } from "#testing/child.ts";
import { forPostgres, testDatabase } from "#testing/database.ts";
import { graphChanged, kafkaInUse, testEvents } from "#testing/events.ts";
import { cloudEventOf, requireValid } from "#testing/kafka/cloud-events.ts";
import { forEachBroker, maxBatchBytes, startMockBroker, type KafkaBroker, type ReadRecord } from "#testing/kafka/kafka-broker.ts";
import { relayOver } from "#testing/kafka/relay-over.ts";
import { openPostgres } from "#testing/postgres-database.ts";
import { requireProgram } from "#testing/programs.ts";
import { until } from "#testing/until.ts";
import { createDeadLetters } from "./dead-letters.ts";
import { createKafkaSink, type KafkaOptions } from "./kafka-sink.ts";

const LEFT = statement<{ left: number }>(
  "test.left",
  "select count(*)::int as left from events.outbox where sent_at is null and dead_at is null",
);
const IDS = statement<{ id: string }>("test.ids", "select id from events.outbox where dead_at is null");
const DEAD = statement<{ id: string; error: string }>("test.dead", "select id, error from events.outbox where dead_at is not null");

const sinkOptions = (broker: KafkaBroker): KafkaOptions => ({
  brokers: [broker.address],
  clientId: "test",
  idempotent: !broker.isMock,
  compression: "zstd",
  deliveryTimeoutMs: 3_000,
  createTopics: true,
  replication: 1,
});

const relayTo = (t: TestContext, database: Database, broker: KafkaBroker, more: Partial<KafkaOptions> = {}) => {
  const sink = createKafkaSink({ ...sinkOptions(broker), ...more });
  cleanUp(t, () => sink[Symbol.asyncDispose]());
  const relay = relayOver({ database, sink, topicPrefix: broker.topicPrefix });
  cleanUp(t, () => relay[Symbol.asyncDispose]());
  return { backlog: relay.backlog };
};

const open = async (t: TestContext) => {
  const database = await testDatabase(t, ["events"]);
  return { database, ...(await testEvents(t, database, { sink: kafkaInUse })) };
};
const allSent = (database: Database) =>
  until(
    () => database.run(LEFT),
    ([row]) => row?.left === 0,
    120_000,
  );
const idOf = ({ headers }: ReadRecord): string => headers["ce_id"] ?? "";
const numberOf = ({ value }: ReadRecord): number => (JSON.parse(value) as { graph_version: number }).graph_version;

/** Each id is there; per key, what came again left out, in order; what came again is the same in every byte. */
const assertWhole = async (database: Database, records: readonly ReadRecord[]): Promise<void> => {
  const first = new Map<string, ReadRecord>();
  const last = new Map<string, number>();
  for (const record of records) {
    const before = first.get(idOf(record));
    if (before !== undefined) assert.deepEqual(record, before);
    else {
      const number = numberOf(record);
      assert.ok(number > (last.get(record.key) ?? 0), `${record.key}: ${number} after ${last.get(record.key)}`);
      last.set(record.key, number);
      first.set(idOf(record), record);
    }
  }
  const wanted = await database.run(IDS);
  assert.deepEqual([...first.keys()].toSorted(), wanted.map(({ id }) => id).toSorted());
};

const KEYS = 50;
const LEASE_SECONDS = 2;
const thousands = (n: number): readonly (readonly EventDraft[])[] =>
  Array.from({ length: n / 100 }, (_, at) => Array.from({ length: 100 }, (_none, i) => graphChanged(`key-${i % KEYS}`, at * 100 + i + 1)));

forEachBroker("an event arrives as a CloudEvent that a consumer of another make reads", async (t, broker) => {
  const { database, change } = await open(t);
  relayTo(t, database, broker);
  await change(async () => ({ result: undefined, events: [{ ...graphChanged("graph", 7), correlationId: "corr-1" }] }));
  await allSent(database);
  const [record, ...more] = await broker.read("graph.events.v1");
  assert.deepEqual(more, []);
  const { ce_id: id, ce_time: time, ...headers } = record?.headers ?? {};
  assert.match(id ?? "", /^[0-9a-f-]{36}$/);
  assert.ok(!Number.isNaN(Date.parse(time ?? "")));
  assert.deepEqual([record?.topic, record?.key, record?.value], ["graph.events.v1", "graph", '{"graph_version":7,"kinds":[]}']);
  assert.deepEqual(headers, {
    "content-type": "application/json",
    ce_specversion: "1.0",
    ce_source: "urn:sallyport:acme.example:membership",
    ce_type: "graph.changed.v1",
    ce_subject: "graph",
    ce_dataschema: "https://acme.example/api/v1/events/schemas/graph.changed.v1",
    ce_partitionkey: "graph",
    ce_tenant: "tenant:acme",
    ce_sequence: "0000000000000000001",
    ce_correlationid: "corr-1",
  });
});

/** Data of a type as its shape says, with every member or those alone that may not be absent. A kind of shape that is new here is a fault. */
const sampleOf = (shape: z.ZodType, isWhole: boolean): unknown => {
  const { def } = (shape as unknown as z.core.$ZodTypes)._zod;
  switch (def.type) {
    case "string":
      return "caf\u00e9 \u{1f986}";
    case "number":
      return 7;
    case "boolean":
      return true;
    case "unknown":
      return { any: [null, "thing"] };
    case "enum":
      return Object.values(def.entries)[0];
    case "literal":
      return def.values[0];
    case "array":
      return isWhole ? [sampleOf(def.element as z.ZodType, true)] : [];
    case "optional":
    case "nullable":
      return isWhole ? sampleOf(def.innerType as z.ZodType, true) : def.type === "nullable" ? null : undefined;
    case "object":
      return Object.fromEntries(
        Object.entries(def.shape).flatMap(([name, member]) => {
          const value = sampleOf(member as z.ZodType, isWhole);
          return value === undefined ? [] : [[name, value]];
        }),
      );
    default:
      throw new TypeError(`no sample of ${def.type}`);
  }
};

forEachBroker("every type of event arrives on its topic as its served schema says, and brings no member besides", async (t, broker) => {
  const { database, change } = await open(t);
  relayTo(t, database, broker);
  const rows = Object.entries(eventTypes);
  const notify = rows.flatMap(([type, { data }]) =>
    [true, false].map((isWhole): EventDraft => {
      const sample = sampleOf(data, isWhole) as Record<string, unknown>;
      return { type, tenant: "tenant:acme", key: `${type} ${isWhole}`, data: { ...sample, leak: "canary-of-a-member" } };
    }),
  );
  await change(async () => ({ result: undefined, events: notify }));
  await allSent(database);
  const records = await broker.read(...new Set(rows.map(([, { topic }]) => topic)));
  // At least once: a topic that is being made may take a batch twice.
  assert.equal(new Set(records.map(idOf)).size, notify.length);
  const byKey = new Map(records.map((record) => [record.key, record]));
  for (const [type, { topic, service, data }] of rows)
    for (const isWhole of [true, false]) {
      const read = byKey.get(`${type} ${isWhole}`)!;
      const { headers, value, ...record } = read;
      const wireType = `${type}.v1`;
      assert.deepEqual(
        [record.topic, headers["ce_type"], headers["ce_source"], headers["ce_dataschema"]],
        [topic, wireType, `urn:sallyport:acme.example:${service}`, `https://acme.example/api/v1/events/schemas/${wireType}`],
      );
      assert.deepEqual(JSON.parse(value), sampleOf(data, isWhole), type);
      const event = cloudEventOf(read);
      assert.deepEqual([event.type, event.id, event["sequence"]], [wireType, idOf(read), headers["ce_sequence"]]);
      requireValid(eventSchemaOf(wireType)!, event);
      const judge = new Validator(eventSchemaOf(wireType) as Schema, "2020-12", false);
      assert.deepEqual(judge.validate(JSON.parse(value)).errors, [], wireType);
      assert.equal(judge.validate({ wrong: true }).valid, Object.keys(sampleOf(data, false) as object).length === 0, wireType);
    }
});

for (const way of ["somebody makes the topic", "Sallyport asks for no more copies than there are brokers"] as const)
  forEachBroker(`a topic that cannot be kept on so many brokers is told of, and what goes there waits until ${way}`, async (t, broker) => {
    if (broker.isMock) return t.skip("the mock makes a topic when it is first named, and asks nobody how");
    const { database, change } = await open(t);
    const relay = relayTo(t, database, broker, { replication: 3 });
    await change(async () => ({ result: undefined, events: thousands(200).flat() }));
    await until(relay.backlog.issues, ([issue, pending]) => issue === "INVALID_REPLICATION_FACTOR" && pending === "pending 200");
    assert.deepEqual(await database.run(DEAD), []);
    if (way === "somebody makes the topic") {
      const admin = new Admin({ clientId: "test", bootstrapBrokers: [broker.address] });
      cleanUp(t, () => admin.close());
      const [there, absent] = ["there", "absent"].map((topic) => `${broker.topicPrefix}${topic}`);
      await admin.createTopics({ topics: [there!], partitions: 1, replicas: 1 });
      const sink = createKafkaSink({ ...sinkOptions(broker), replication: 3 });
      cleanUp(t, () => sink[Symbol.asyncDispose]());
      const record = (topic: string) => ({ topic, key: "k", value: "{}", headers: {} });
      await sink.send([record(there!)]);
      const again = createKafkaSink({ ...sinkOptions(broker), replication: 3 });
      cleanUp(t, () => again[Symbol.asyncDispose]());
      await assert.rejects(
        again.send([record(there!), record(absent!)]),
        { message: "INVALID_REPLICATION_FACTOR" },
        "what is there is no fault",
      );
      await admin.createTopics({ topics: [`${broker.topicPrefix}graph.events.v1`], partitions: 2, replicas: 1 });
    } else relayTo(t, database, broker);
    await allSent(database);
    await assertWhole(database, await broker.read("graph.events.v1"));
    await until(() => relay.backlog.issues().length === 0);
  });

forEachBroker("a broker that is away while 10,000 events are made gets each of them, per key in order", async (t, broker) => {
  const { database, change } = await open(t);
  if (broker.isMock) broker.freeze();
  else await broker.kill();
  const { backlog } = relayTo(t, database, broker);
  for (const events of thousands(10_000)) await change(async () => ({ result: undefined, events }));
  await until(() => backlog.issues().includes("pending 10000") && backlog.issues().length === 3);
  if (broker.isMock) broker.thaw();
  else await broker.start();
  await allSent(database);
  const records = await broker.read("graph.events.v1");
  await assertWhole(database, records);
  assert.equal(new Set(records.map(({ partition }) => partition)).size, broker.isMock ? 4 : 6, "keys lie in all partitions");
  assert.deepEqual(await database.run(DEAD), []);
  await until(() => backlog.issues().length === 0);
});

forEachBroker("a broker stopped in mid-send by SIGSTOP loses nothing, and what comes twice is the same", async (t, broker) => {
  const { database, change } = await open(t);
  const { backlog } = relayTo(t, database, broker);
  const drafts = thousands(6_000);
  for (const [at, events] of drafts.entries()) {
    if (at === 20) broker.freeze();
    await change(async () => ({ result: undefined, events }));
  }
  await until(() => backlog.issues().includes("the broker does not answer") || backlog.issues().includes("PLT_KFK_NETWORK"));
  broker.thaw();
  await allSent(database);
  await assertWhole(database, await broker.read("graph.events.v1"));
});

forEachBroker("two relays share the lanes: nothing is lost, each key in its order", async (t, broker) => {
  const { database, change } = await open(t);
  relayTo(t, database, broker);
  relayTo(t, database, broker);
  for (const events of thousands(5_000)) await change(async () => ({ result: undefined, events }));
  await allSent(database);
  await assertWhole(database, await broker.read("graph.events.v1"));
});

/** A relay in a process of its own, as a replica has it; prints "sends" before each send and "sent" after it. */
const relayProcess = (url: string, broker: KafkaBroker): Child =>
  startChild(`
    const load = async (path) => await import(new URL(path, src));
    const { openPostgres } = await load("testing/postgres-database.ts");
    const { createKafkaSink } = await load("events/relay/kafka-sink.ts");
    const { relayOver } = await load("testing/kafka/relay-over.ts");
    const sink = createKafkaSink(${JSON.stringify(sinkOptions(broker))});
    const telling = { ...sink, send: async (records) => {
      console.log("sends");
      await sink.send(records);
      console.log("sent");
    } };
    relayOver({ database: await openPostgres(${JSON.stringify(url)}), sink: telling, leaseSeconds: ${LEASE_SECONDS} });
  `);

const libraryOfMock = (t: TestContext): string | undefined => {
  const library = requireProgram(t, "confluent-kafka");
  return library === undefined ? undefined : dirname(dirname(library));
};

forPostgres(
  "of two replicas one is stopped by SIGSTOP in mid-send, past its lease, and goes on: nothing is lost, each key in its order (librdkafka's mock)",
  ["events"],
  async (t, url) => {
    const library = libraryOfMock(t);
    if (library === undefined) return;
    const broker = await startMockBroker(t, library);
    const database = await openPostgres(url);
    cleanUp(t, () => database[Symbol.asyncDispose]());
    const { change } = await testEvents(t, database, { sink: kafkaInUse });
    const [before, during, after] = [thousands(200), thousands(3_000), thousands(200)].map((all, part) =>
      all.map((events) => events.map((one) => graphChanged(one.key, part * 10_000 + Number(one.data["graph_version"])))),
    ) as [EventDraft[][], EventDraft[][], EventDraft[][]];
    const tell = async (all: readonly (readonly EventDraft[])[]): Promise<void> => {
      for (const events of all) await change(async () => ({ result: undefined, events }));
    };
    const replica = relayProcess(url, broker);
    cleanUp(t, () => replica.kill());
    const says = async (wanted: string): Promise<void> => {
      while ((await replica.line()) !== wanted);
    };
    await tell(before);
    await says("sent");
    await allSent(database);
    // What it sends from here on reaches a broker that stands still: it is in mid-send when it is stopped itself.
    broker.freeze();
    await tell(during);
    await says("sends");
    replica.process.kill("SIGSTOP");
    broker.thaw();
    const sink = createKafkaSink(sinkOptions(broker));
    cleanUp(t, () => sink[Symbol.asyncDispose]());
    const other = relayOver({ database, sink, leaseSeconds: LEASE_SECONDS });
    cleanUp(t, () => other[Symbol.asyncDispose]());
    await allSent(database);
    replica.process.kill("SIGCONT");
    // It finds its lease gone, and takes part again: with the other one away it is the only one.
    await other[Symbol.asyncDispose]();
    await tell(after);
    await allSent(database);
    const records = await broker.read("graph.events.v1");
    await assertWhole(database, records);
  },
);

forEachBroker(
  "a record that the broker finds too large goes to the dead letters without its value, its key goes on, and it arrives when it is sent again",
  async (t, broker) => {
    // The mock takes records of any size; what the relay does then is in relay.test.ts.
    if (broker.isMock) return t.skip("the mock has no limit");
    const { database, change } = await open(t);
    const { backlog } = relayTo(t, database, broker);
    // So much of them is chance that no compression brings it under the limit; the outbox itself keeps 64 KiB.
    const kinds = Array.from({ length: maxBatchBytes / 12.5 }, () => crypto.randomUUID());
    const large = { ...graphChanged("k", 2), data: { graph_version: 2, kinds } };
    await change(async () => ({
      result: undefined,
      events: [graphChanged("k", 1), large, graphChanged("k", 3), graphChanged("other", 1)],
    }));
    await allSent(database);
    await assertWhole(database, await broker.read("graph.events.v1"));
    const [dead] = await database.run(DEAD);
    assert.ok(["MESSAGE_TOO_LARGE", "RECORD_LIST_TOO_LARGE"].includes(dead?.error ?? ""), dead?.error ?? "none is dead");
    const [copy, ...more] = await broker.read("graph.events.v1.dlq");
    assert.deepEqual([copy?.headers["ce_id"], more], [dead?.id, []]);
    assert.equal((JSON.parse(copy?.value ?? "{}") as { truncated?: boolean }).truncated, true);

    await broker.takeUpTo(1_000_000);
    const letters = createDeadLetters({ database, change, notify: () => backlog.notify() });
    const who = {
      tenant: "tenant:acme",
      actor: { subject: "person:ada", kind: "person" },
      via: { service: "test" },
      correlationId: "again",
    } as const;
    await letters.act("retried", { id: dead?.id ?? "", tenant: who.tenant }, who);
    await until(
      () => broker.read("graph.events.v1"),
      (records) => records.some((record) => idOf(record) === dead?.id && numberOf(record) === 2),
      60_000,
    );
    assert.deepEqual(await database.run(DEAD), []);
  },
);
