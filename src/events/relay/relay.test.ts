import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { statement, type Database } from "#store/database.ts";
import { silentLog } from "#telemetry/log.ts";
import { createMetrics } from "#telemetry/metrics.ts";
import { noTracing, type SpanOptions } from "#telemetry/tracing.ts";
import type { EventDraft } from "#events/model/event-draft.ts";
import { createRetention } from "#events/changes/outbox-retention.ts";
import { cleanUp } from "#testing/clean-up.ts";
import { forEachDatabase, testDatabase } from "#testing/database.ts";
import { graphChanged, kafkaInUse, testEvents } from "#testing/events.ts";
import { until } from "#testing/until.ts";
import { createBacklog } from "./backlog.ts";
import { RecordRefused, SinkUnavailable, type EventSink, type SinkRecord } from "./event-sink.ts";
import { createLanes } from "./lanes.ts";
import { createRelay, type RelayParts } from "./relay.ts";

const ROWS = statement<{ key: string; n: number; attempts: number; sent: boolean; dead: boolean; error: string | null }>(
  "test.outbox_rows",
  `select key, (data ->> 'graph_version')::int as n, attempts, sent_at is not null as sent, dead_at is not null as dead, error
   from events.outbox order by seq`,
);

type Say = (records: readonly SinkRecord[]) => Promise<void> | void;

/** A sink of the test's own: what it took, and what it says before it takes. */
const fakeSink = (say: { now: Say }): EventSink & { readonly taken: SinkRecord[] } => {
  const taken: SinkRecord[] = [];
  return {
    taken,
    send: async (records) => {
      await say.now(records);
      taken.push(...records);
    },
    [Symbol.asyncDispose]: async () => {},
  };
};

const numberOf = ({ value }: SinkRecord): number => (JSON.parse(value) as { graph_version: number }).graph_version;
const numbersOf = (sink: { readonly taken: readonly SinkRecord[] }, key: string): readonly number[] =>
  sink.taken.filter((record) => record.key === key).map(numberOf);

const relayTo = async (
  t: TestContext,
  database: Database,
  sink: EventSink,
  more: Partial<Pick<RelayParts, "leaseSeconds" | "maxAttempts" | "tracing">> = {},
) => {
  const metrics = createMetrics();
  const backlog = createBacklog({ database, log: silentLog, metrics, maxRows: 1000, everyMs: 50, idleEveryMs: 50 });
  cleanUp(t, () => backlog[Symbol.asyncDispose]());
  const relay = createRelay({
    database,
    sink,
    backlog,
    log: silentLog,
    metrics,
    instanceId: "acme.example",
    publicOrigin: "https://acme.example",
    topicPrefix: "",
    maxAttempts: more.maxAttempts ?? 3,
    deliveryTimeoutMs: 100,
    everyMs: 20,
    tracing: more.tracing,
    ...(more.leaseSeconds === undefined ? {} : { leaseSeconds: more.leaseSeconds }),
  });
  cleanUp(t, () => relay[Symbol.asyncDispose]());
  return { backlog, metrics };
};
const allSent = (database: Database) =>
  until(
    () => database.run(ROWS),
    (rows) => rows.every(({ sent, dead }) => sent || dead),
  );

forEachDatabase(
  "a refused record holds back its own key, then goes to the dead letters, and its key goes on",
  ["events"],
  async (t, database) => {
    const { change } = await testEvents(t, database, { sink: kafkaInUse });
    const sink = fakeSink({
      now: (records) => {
        if (records.some((record) => !record.topic.endsWith(".dlq") && record.key === "bad" && numberOf(record) === 2))
          throw new RecordRefused("MESSAGE_TOO_LARGE");
      },
    });
    await change(async () => ({ result: undefined, events: [1, 2, 3].flatMap((n) => [graphChanged("bad", n), graphChanged("good", n)]) }));
    const { metrics } = await relayTo(t, database, sink, { maxAttempts: 1 });
    const rows = await allSent(database);
    assert.deepEqual(
      rows.filter(({ dead }) => dead),
      [{ key: "bad", n: 2, attempts: 1, sent: false, dead: true, error: "MESSAGE_TOO_LARGE" }],
    );
    assert.deepEqual(numbersOf(sink, "good"), [1, 2, 3]);
    const [dead, ...more] = sink.taken.filter(({ topic }) => topic === "graph.events.v1.dlq");
    assert.deepEqual([dead?.headers["dlq_error"], dead?.headers["dlq_topic"], more], ["MESSAGE_TOO_LARGE", "graph.events.v1", []]);
    assert.deepEqual(sink.taken.filter(({ topic, key }) => topic === "graph.events.v1" && key === "bad").map(numberOf), [1, 3]);
    // It is counted when the database has said that it is marked.
    const text = await until(
      () => metrics.text(),
      (said) => said.includes('bff_kafka_messages_total{topic="graph.events.v1",status="sent"} 5'),
    );
    assert.match(text, /bff_kafka_messages_total\{topic="graph.events.v1",status="dead"\} 1/);
    await until(async () => (await metrics.text()).includes("events_outbox_dead 1"));
  },
);

test("a refused record is tried again before it is dead, and nothing of its key goes ahead of it", async (t) => {
  const database = await testDatabase(t, ["events"]);
  const { change } = await testEvents(t, database, { sink: kafkaInUse });
  let refusals = 0;
  const sink = fakeSink({
    now: (records) => {
      if (refusals < 1 && records.some(({ key }) => key === "late") && records.length === 1) {
        refusals++;
        throw new RecordRefused("POLICY_VIOLATION");
      }
      if (refusals < 1 && records.some(({ key }) => key === "late")) throw new RecordRefused("POLICY_VIOLATION");
    },
  });
  await change(async () => ({ result: undefined, events: [1, 2, 3].map((n) => graphChanged("late", n)) }));
  await relayTo(t, database, sink);
  const rows = await allSent(database);
  assert.deepEqual(numbersOf(sink, "late"), [1, 2, 3]);
  assert.deepEqual(
    rows.map(({ attempts, error }) => [attempts, error]),
    [
      [1, null],
      [0, null],
      [0, null],
    ],
  );
});

forEachDatabase(
  "a lane with nothing but a key that waits is left alone until it is due, and taken for what else comes",
  ["events"],
  async (t, database) => {
    const { change } = await testEvents(t, database, { sink: kafkaInUse });
    const tell = (...events: EventDraft[]) => change(async () => ({ result: undefined, events }));
    await tell(graphChanged("k", 1), graphChanged("k", 2));
    const lanes = createLanes({ database, owner: "one", leaseSeconds: 30 });
    const refuse = async (waitSeconds: number): Promise<void> => {
      const lease = await lanes.claim();
      assert.ok(lease !== undefined);
      const { rows, isAll } = await lanes.due(lease);
      assert.deepEqual([rows.length, isAll], [2, true]);
      await lanes.markRefused(lease, rows[0]!, "POLICY_VIOLATION", waitSeconds);
      assert.deepEqual(await lanes.due(lease), { rows: [], isAll: true });
      await lanes.release(lease);
    };
    await refuse(3600);
    assert.equal(await lanes.claim(), undefined);
    await database.run(statement("test.due_now", "update events.outbox set next_at = now() where attempts > 0"));
    await refuse(3600);
    // Every lane has one.
    await tell(...Array.from({ length: 400 }, (_, n) => graphChanged(`other-${n}`, 1)));
    const taken = await lanes.claim();
    assert.equal(taken?.lanes.size, 8);
    assert.ok((await lanes.due(taken)).rows.every(({ key }) => key !== "k"));
  },
);

test("while the sink is away nothing is lost, no try is counted, and health says how much waits", async (t) => {
  const database = await testDatabase(t, ["events"]);
  const { change } = await testEvents(t, database, { sink: kafkaInUse });
  const away: { now: Say } = {
    now: () => {
      throw new SinkUnavailable("PLT_KFK_NETWORK");
    },
  };
  const sink = fakeSink(away);
  const { backlog } = await relayTo(t, database, sink);
  assert.deepEqual(backlog.issues(), []);
  for (let n = 1; n <= 5; n++) await change(async () => ({ result: undefined, events: [graphChanged("k", n)] }));
  await until(
    () => backlog.issues(),
    ([issue, pending]) => issue === "PLT_KFK_NETWORK" && pending === "pending 5",
  );
  away.now = () => undefined;
  const rows = await allSent(database);
  assert.deepEqual(numbersOf(sink, "k"), [1, 2, 3, 4, 5]);
  assert.ok(rows.every(({ attempts }) => attempts === 0));
  await until(() => backlog.issues().length === 0);
});

test("a change that would tell of itself is refused when too much waits, and the state stays as it was", async (t) => {
  const database = await testDatabase(t, ["events"]);
  const backlog = createBacklog({ database, log: silentLog, metrics: createMetrics(), maxRows: 3, everyMs: 3_600_000 });
  cleanUp(t, () => backlog[Symbol.asyncDispose]());
  const { change } = await testEvents(t, database, { sink: backlog });
  for (let n = 1; n <= 3; n++) await change(async () => ({ result: undefined, events: [graphChanged("k", n)] }));
  await backlog.measure();
  await assert.rejects(
    change(async () => ({ result: undefined, events: [graphChanged("k", 4)] })),
    { code: "event_backlog_full" },
  );
  assert.equal((await database.run(ROWS)).length, 3);
  assert.equal(await change(async () => ({ result: "done" })), "done", "what tells nothing goes on");
});

forEachDatabase(
  "of two relays, one stopped past its lease, all arrives and each key in its order",
  ["events"],
  async (t, database, { second }) => {
    const { change } = await testEvents(t, database, { sink: kafkaInUse });
    const other = second === undefined ? database : await second();
    const keys = Array.from({ length: 40 }, (_, at) => `key-${at}`);
    await change(async () => ({ result: undefined, events: [1, 2, 3].flatMap((n) => keys.map((key) => graphChanged(key, n))) }));
    const stopped = Promise.withResolvers<void>();
    let sends = 0;
    const taken: SinkRecord[] = [];
    const slow: EventSink = {
      send: async (records) => {
        // The first send of this relay hangs until the other one has done everything, and is taken all the same.
        if (sends++ === 0) await stopped.promise;
        taken.push(...records);
      },
      [Symbol.asyncDispose]: async () => {},
    };
    const quick: EventSink = { send: async (records) => void taken.push(...records), [Symbol.asyncDispose]: async () => {} };
    await relayTo(t, database, slow, { leaseSeconds: 1 });
    await until(() => sends > 0);
    await relayTo(t, other, quick, { leaseSeconds: 1 });
    await allSent(database);
    stopped.resolve();
    await until(() => taken.length > 120);
    for (const key of keys) {
      const seen = new Set<number>();
      const first = taken.filter((record) => record.key === key && !seen.has(numberOf(record)) && seen.add(numberOf(record))).map(numberOf);
      assert.deepEqual(first, [1, 2, 3], key);
    }
  },
);

test("nothing is asked of the database while nothing is told, and what is told then arrives", async (t) => {
  const database = await testDatabase(t, ["events"]);
  let asked = 0;
  const counting: Database = { ...database, run: (...what) => (asked++, database.run(...what)) };
  const parts = { database: counting, log: silentLog, metrics: createMetrics() };
  const backlog = createBacklog({ ...parts, maxRows: 10, everyMs: 5, idleEveryMs: 3_600_000 });
  cleanUp(t, () => backlog[Symbol.asyncDispose]());
  const sink = fakeSink({ now: () => undefined });
  let rounds = 0;
  const relay = createRelay({
    ...parts,
    sink,
    backlog: { ...backlog, isAwaited: () => (rounds++, backlog.isAwaited()) },
    instanceId: "acme.example",
    publicOrigin: "https://acme.example",
    topicPrefix: "",
    maxAttempts: 1,
    deliveryTimeoutMs: 100,
    everyMs: 5,
  });
  cleanUp(t, () => relay[Symbol.asyncDispose]());
  const { change } = await testEvents(t, database, { sink: backlog });
  await until(() => !backlog.isAwaited());
  for (const n of [1, 2]) {
    const began = rounds;
    // The round under way may still end.
    await until(() => rounds > began + 2);
    const before = asked;
    await until(() => rounds > began + 20);
    assert.equal(asked, before);
    await change(async () => ({ result: undefined, events: [graphChanged("k", n)] }));
    await until(() => numbersOf(sink, "k").includes(n) && !backlog.isAwaited());
  }
});

test("an event names the span that made it, and its sending is linked to that span", async (t) => {
  const database = await testDatabase(t, ["events"]);
  const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  const { change, recorder } = await testEvents(t, database, { sink: kafkaInUse, traceparent: () => traceparent });
  await change(async () => ({ result: undefined, events: [graphChanged("k", 1)] }));
  await recorder.one({
    tenant: "tenant:acme",
    category: "tool_call",
    outcome: "denied",
    actor: { subject: "person:ben", kind: "person" },
    via: { service: "crud" },
    resource: { type: "tool", id: "t" },
    correlationId: "c",
    data: {},
  });
  const spans: (SpanOptions & { readonly name: string })[] = [];
  const sink = fakeSink({ now: () => undefined });
  const tracing: typeof noTracing = {
    ...noTracing,
    isRecording: true,
    span: (name, options, work) => (spans.push({ name, ...options }), noTracing.span(name, options, work)),
  };
  await relayTo(t, database, sink, { tracing });
  await allSent(database);
  assert.deepEqual(sink.taken.map(({ headers }) => [headers["ce_type"], headers["ce_traceparent"], headers["traceparent"]]).toSorted(), [
    ["graph.changed.v1", traceparent, traceparent],
    ["tool.refused.v1", traceparent, traceparent],
  ]);
  assert.ok(spans.every(({ name, kind }) => name.startsWith("outbox.deliver") && kind === "producer"));
  assert.deepEqual(
    spans.flatMap(({ links = [] }) => links),
    [traceparent, traceparent],
  );
});

test("retention leaves what a configured sink has not taken, sent or dead; without a sink no row waits for one", async (t) => {
  const database = await testDatabase(t, ["events"]);
  const { change } = await testEvents(t, database, { sink: kafkaInUse });
  const reported = (n: number): readonly EventDraft[] => [
    graphChanged("k", n),
    {
      type: "decision.notice",
      tenant: "tenant:acme",
      key: "n",
      data: { decision_id: "d", decision: true, action: "a", resource_type: "r" },
    },
  ];
  await change(async () => ({ result: undefined, events: [...reported(1), ...reported(2)] }));
  await database.run(
    statement("test.age", "update events.outbox set at = at - interval '2 days', sent_at = case when version = 2 then now() end"),
  );
  const sweep = async (hasSink: boolean): Promise<number> => {
    await using retention = createRetention({ database, log: silentLog, replayHours: 1, keepNewest: 0, hasSink });
    return retention.sweep();
  };
  assert.equal(await sweep(true), 1, "the one that was sent");
  assert.equal((await database.run(ROWS)).length, 3);
  assert.equal(await sweep(false), 3);

  const alone = await testEvents(t, database);
  await alone.change(async () => ({ result: undefined, events: reported(3) }));
  const left = await database.run(statement<{ sink: string | null; type: string }>("test.sinks", "select sink, type from events.outbox"));
  assert.deepEqual(left, [{ sink: null, type: "graph.changed" }]);
});

test("data that consumers would not know is refused with its change; members of the live stream alone stay in Sallyport", async (t) => {
  const database = await testDatabase(t, ["events"]);
  const { change } = await testEvents(t, database, { sink: kafkaInUse });
  await assert.rejects(
    change(async () => ({ result: undefined, events: [{ ...graphChanged("k", 1), data: { graph_version: "one", kinds: [] } }] })),
    /graph_version/,
  );
  const alone = await testEvents(t, database);
  await assert.rejects(
    alone.change(async () => ({ result: undefined, events: [{ ...graphChanged("k", 1), data: {} }] })),
    /graph_version/,
    "without a sink too",
  );
  assert.equal((await database.run(ROWS)).length, 0);
  const sink = fakeSink({ now: () => undefined });
  await change(async () => ({
    result: undefined,
    events: [{ ...graphChanged("k", 1), data: { graph_version: 1, kinds: ["Person"], inside: "x" } }],
  }));
  await relayTo(t, database, sink);
  await allSent(database);
  assert.deepEqual(
    sink.taken.map(({ value }) => value),
    ['{"graph_version":1,"kinds":["Person"]}'],
  );
});
