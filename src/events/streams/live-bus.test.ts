import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { statement, type Database } from "#store/database.ts";
import { silentLog } from "#telemetry/log.ts";
import { createMetrics } from "#telemetry/metrics.ts";
import { cleanUp } from "#testing/clean-up.ts";
import { forEachDatabase } from "#testing/database.ts";
import { testEvents } from "#testing/events.ts";
import type { Change } from "#events/changes/change.ts";
import type { EventDraft } from "#events/model/event-draft.ts";
import { createLiveBus, type BusFrame, type BusSubscribe, type LiveBus } from "./live-bus.ts";
import { createRetention } from "#events/changes/outbox-retention.ts";

const event = (n: number, more: Partial<EventDraft> = {}): EventDraft => ({
  type: "thing.changed",
  tenant: "tenant:acme",
  stream: "config",
  kind: "graph",
  key: "k",
  data: { n },
  ...more,
});
const tell = (change: Change, n: number, more: Partial<EventDraft> = {}): Promise<void> =>
  change(async () => ({ result: undefined, events: [event(n, more)] }));

const numberOf = (frame: BusFrame): unknown =>
  frame.kind === "event" ? frame.event.data["n"] : frame.kind === "resync" ? frame.reason : frame.kind;

/** Reads frames into a list until told to stop. */
const read = (bus: LiveBus, options: Partial<BusSubscribe> = {}) => {
  const stop = new AbortController();
  const frames: BusFrame[] = [];
  const subscription = bus.subscribe({
    stream: "config",
    tenant: "tenant:acme",
    subject: "person:ben",
    seesAll: false,
    signal: stop.signal,
    ...options,
  });
  const done = (async () => {
    for await (const frame of subscription) frames.push(frame);
  })();
  return {
    frames,
    subscription,
    seen: () => frames.map(numberOf),
    events: () => frames.filter((frame) => frame.kind === "event").map(numberOf),
    stop: async () => {
      stop.abort();
      await done;
    },
    done,
  };
};

const until = async (holds: () => boolean): Promise<void> => {
  for (const deadline = Date.now() + 10_000; !holds(); await sleep(5)) assert.ok(Date.now() < deadline, "it did not happen in time");
};
const upTo = (n: number): number[] => Array.from({ length: n }, (_, index) => index + 1);
const busOn = async (t: { after: (close: () => unknown) => void }, database: Database, pollMs = 200): Promise<LiveBus> => {
  const bus = await createLiveBus({ database, log: silentLog, metrics: createMetrics(), pollMs });
  cleanUp(t, () => bus[Symbol.asyncDispose]());
  return bus;
};

forEachDatabase("a subscriber hears each event once, in order, whatever moment it resumes at", ["events"], async (t, database) => {
  const { bus, change } = await testEvents(t, database);
  const live = read(bus);
  await until(() => live.frames.length === 1);
  assert.deepEqual(live.frames[0], { kind: "start", seq: 0n, replaying: false });
  const late: ReturnType<typeof read>[] = [];
  for (const n of upTo(700)) {
    await tell(change, n);
    // Resumes from everywhere, while more is being written: from the ring, and from the table.
    if (n % 100 === 0) late.push(read(bus, { after: String(Math.floor(n / 3)) }));
  }
  await until(() => [live, ...late].every((reader) => reader.events().at(-1) === 700));
  assert.deepEqual(live.events(), upTo(700));
  for (const reader of late) {
    const first = Number(reader.events()[0]);
    assert.deepEqual(reader.events(), upTo(700).slice(first - 1));
    assert.equal(reader.frames[0]?.kind === "start" && Number(reader.frames[0].seq), first - 1);
    assert.equal(reader.frames.filter((frame) => frame.kind === "caught_up").length, 1);
    assert.equal(reader.subscription.position, 700n);
    await reader.stop();
  }
  await live.stop();
});

forEachDatabase("what one process changes another one hears, also when every hint is lost", ["events"], async (t, database, { second }) => {
  const { change } = await testEvents(t, database);
  const other = (await second?.()) ?? database;
  const hinted = await busOn(t, other, 60_000);
  // Deaf: neither tells nor hears a hint.
  const deaf: Database = { ...other, listen: async () => async () => undefined, notify: async () => undefined };
  const polling = await busOn(t, deaf, 50);
  const byHint = read(hinted);
  const byPoll = read(polling);
  await until(() => byHint.frames.length === 1 && byPoll.frames.length === 1);
  for (const n of upTo(50)) await tell(change, n);
  await until(() => byPoll.events().length === 50);
  assert.deepEqual(byPoll.events(), upTo(50));
  if (second !== undefined) {
    await until(() => byHint.events().length === 50);
    assert.deepEqual(byHint.events(), upTo(50));
  }
  await Promise.all([byHint.stop(), byPoll.stop()]);
});

forEachDatabase("a resume point that cannot be resumed from gets one resync and then what happens", ["events"], async (t, database) => {
  const { bus, change } = await testEvents(t, database);
  for (const n of upTo(30)) await tell(change, n);
  const retention = createRetention({ database, log: silentLog, replayHours: 1, keepNewest: 10 });
  cleanUp(t, () => retention[Symbol.asyncDispose]());
  assert.equal(await retention.sweep(), 0, "young events stay");
  await database.script("update events.outbox set at = at - interval '2 hours'");
  assert.equal(await retention.sweep(), 20);
  assert.equal(await retention.sweep(), 0);
  const cases: readonly (readonly [string, unknown])[] = [
    ["5", "too_old"],
    ["19", "too_old"],
    ["31", "ahead"],
    ["999999999999999999", "ahead"],
    ["abc", "unknown_id"],
    ["-1", "unknown_id"],
    ["", "unknown_id"],
    ["1".repeat(300), "unknown_id"],
  ];
  const readers = cases.map(([after]) => read(bus, { after }));
  const kept = read(bus, { after: "20" });
  await until(() => readers.every((reader) => reader.frames.length >= 2) && kept.events().length === 10);
  assert.deepEqual(kept.events(), upTo(30).slice(20));
  await tell(change, 31);
  await until(() => readers.every((reader) => reader.events().length === 1));
  for (const [index, [after, reason]] of cases.entries()) {
    assert.deepEqual(readers[index]!.seen(), ["start", reason, 31], after);
    const resync = readers[index]!.frames[1]!;
    assert.equal(resync.kind === "resync" && resync.seq, 30n);
    await readers[index]!.stop();
  }
  await kept.stop();
});

forEachDatabase("events that are lost while a reader replays are not skipped in silence", ["events"], async (t, database) => {
  const { change } = await testEvents(t, database);
  for (const n of upTo(40)) await tell(change, n);
  const bus = await busOn(t, database);
  const frames = bus
    .subscribe({ stream: "config", tenant: "tenant:acme", subject: "x", seesAll: true, after: "5" })
    [Symbol.asyncIterator]();
  assert.equal(numberOf((await frames.next()).value as BusFrame), "start");
  await database.script("delete from events.outbox where version < 30; update events.stream_head set oldest = 30");
  const next = (await frames.next()).value as BusFrame;
  assert.deepEqual(next, { kind: "resync", reason: "too_old", seq: 40n });
  await frames.return?.(undefined);
});

forEachDatabase("tenants and streams never mix, and an event addressed to some is shown to them alone", ["events"], async (t, database) => {
  const { bus, change } = await testEvents(t, database);
  const ben = read(bus);
  const cleo = read(bus, { subject: ["person:cleo", "agent:reporter"] });
  const all = read(bus, { subject: "person:ada", seesAll: true });
  const eve = read(bus, { tenant: "tenant:globex", subject: "person:ben", seesAll: true });
  const workflow = read(bus, { stream: "workflow", seesAll: true });
  await until(() => [ben, cleo, all, eve, workflow].every((reader) => reader.frames.length === 1));
  await tell(change, 1);
  await tell(change, 2, { visibleTo: ["person:ben"] });
  await tell(change, 3, { visibleTo: ["agent:reporter", "person:dan"] });
  await tell(change, 4, { visibleTo: [] });
  await tell(change, 5, { tenant: "tenant:globex" });
  await tell(change, 6, { stream: "workflow" });
  await until(() => all.events().length === 4 && eve.events().length === 1 && workflow.events().length === 1);
  await until(() => ben.subscription.position === 4n && cleo.subscription.position === 4n);
  assert.deepEqual([ben.events(), cleo.events(), all.events(), eve.events(), workflow.events()], [[1, 2], [1, 3], [1, 2, 3, 4], [5], [6]]);
  await Promise.all([ben, cleo, all, eve, workflow].map((reader) => reader.stop()));
});

forEachDatabase("a subscriber that falls behind is given up, and delays nobody", ["events"], async (t, database) => {
  const { bus, change } = await testEvents(t, database);
  let slow = 0;
  const slack = bus
    .subscribe({ stream: "config", tenant: "tenant:acme", subject: "x", seesAll: true, onSlow: () => slow++ })
    [Symbol.asyncIterator]();
  assert.equal(((await slack.next()).value as BusFrame).kind, "start");
  // Waits for the first live event, takes it, and then reads no more.
  const first = slack.next();
  const quick = read(bus);
  await until(() => quick.frames.length === 1);
  for (const n of upTo(300)) await tell(change, n);
  assert.equal(numberOf((await first).value as BusFrame), 1);
  await until(() => quick.events().length === 300);
  assert.equal(slow, 1);
  assert.deepEqual((await slack.next()).value, { kind: "bye", reason: "slow" });
  assert.equal((await slack.next()).done, true);
  await quick.stop();
});

forEachDatabase(
  "however much is committed at once, who takes it is not slow, and who takes none of it only when more comes",
  ["events"],
  async (t, database) => {
    const { bus, change } = await testEvents(t, database);
    let slow = 0;
    const slack = bus
      .subscribe({ stream: "config", tenant: "tenant:acme", subject: "x", seesAll: true, onSlow: () => slow++ })
      [Symbol.asyncIterator]();
    await slack.next();
    const first = slack.next();
    const quick = read(bus);
    await until(() => quick.frames.length === 1);
    await change(async () => ({ result: undefined, events: upTo(1_000).map((n) => event(n, { data: { n, text: "x".repeat(2_000) } })) }));
    await until(() => quick.events().length === 1_000);
    assert.deepEqual(quick.events(), upTo(1_000));
    assert.deepEqual(
      quick.frames.filter(({ kind }) => kind !== "event").map(({ kind }) => kind),
      ["start"],
    );
    assert.equal(numberOf((await first).value as BusFrame), 1);
    assert.equal(slow, 0, "it takes its time with what came at once");
    for (const n of upTo(300)) await tell(change, 1_000 + n);
    await until(() => quick.events().length === 1_300);
    assert.equal(slow, 1, "but lies behind what came after");
    assert.deepEqual((await slack.next()).value, { kind: "bye", reason: "slow" });
    await quick.stop();
  },
);

forEachDatabase("bytes count too: few large events are as much to fall behind as many small ones", ["events"], async (t, database) => {
  const { bus, change } = await testEvents(t, database);
  let slow = 0;
  const slack = bus
    .subscribe({ stream: "config", tenant: "tenant:acme", subject: "x", seesAll: true, onSlow: () => slow++ })
    [Symbol.asyncIterator]();
  await slack.next();
  const first = slack.next();
  for (const n of upTo(30)) await tell(change, n, { data: { n, text: "x".repeat(60_000) } });
  await first;
  await until(() => slow === 1);
  await slack.return?.(undefined);
});

forEachDatabase("a bus that ends says goodbye to its subscribers", ["events"], async (t, database) => {
  const bus = await busOn(t, database);
  const reader = read(bus);
  await until(() => reader.frames.length === 1);
  await bus[Symbol.asyncDispose]();
  await reader.done;
  assert.deepEqual(reader.frames.at(-1), { kind: "bye", reason: "drain" });
  const late = read(bus);
  await late.done;
  assert.deepEqual(late.frames, []);
});

forEachDatabase("the bus knows when it cannot vouch for what it shows", ["events"], async (t, database) => {
  let broken = false;
  const flaky: Database = {
    ...database,
    run: (text, values) => (broken ? Promise.reject(new Error("gone")) : database.run(text, values)),
  };
  const bus = await createLiveBus({ database: flaky, log: silentLog, metrics: createMetrics(), pollMs: 20, freshMs: 300 });
  cleanUp(t, () => bus[Symbol.asyncDispose]());
  assert.equal(bus.isFresh(), true);
  broken = true;
  await sleep(400);
  assert.equal(bus.isFresh(), false);
  broken = false;
  await until(() => bus.isFresh());
});

forEachDatabase("nothing is left of subscribers that went", ["events"], async (t, database) => {
  const metrics = createMetrics();
  const bus = await createLiveBus({ database, log: silentLog, metrics });
  cleanUp(t, () => bus[Symbol.asyncDispose]());
  const readers = upTo(20).map(() => read(bus));
  await until(() => readers.every((reader) => reader.frames.length === 1));
  assert.match(await metrics.text(), /events_stream_clients\{stream="config"\} 20\n/);
  await Promise.all(readers.map((reader) => reader.stop()));
  assert.match(await metrics.text(), /events_stream_clients\{stream="config"\} 0\n/);
  const again = read(bus);
  await until(() => again.frames.length === 1);
  await database.run(statement("t.emit", "select * from events.emit($1::json)"), [
    JSON.stringify([
      { id: crypto.randomUUID(), tenant: "tenant:acme", stream: "config", kind: "graph", type: "x", key: "k", data: { n: 1 } },
    ]),
  ]);
  await until(() => again.events().length === 1);
  await again.stop();
});
