import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { statement, type Database } from "#store/database.ts";
import { forEachDatabase } from "#testing/database.ts";
import { silentLog } from "#telemetry/log.ts";
import { cleanUp } from "#testing/clean-up.ts";
import { kafkaInUse, testEvents } from "#testing/events.ts";
import type { EntryDraft } from "#events/audit/entry.ts";
import type { EventDraft } from "#events/model/event-draft.ts";
import { createRetention } from "./outbox-retention.ts";

const event = (tenant: string, more: Partial<EventDraft> = {}): EventDraft => ({
  type: "thing.changed",
  tenant,
  stream: "config",
  kind: "graph",
  key: "k",
  data: { n: 1 },
  ...more,
});
const entry = (tenant: string, more: Partial<EntryDraft> = {}): EntryDraft => ({
  tenant,
  category: "delegation",
  outcome: "ok",
  actor: { subject: "person:ben", kind: "person" },
  via: { service: "test" },
  resource: { type: "delegation", id: "delegation:d" },
  correlationId: "c",
  data: {},
  ...more,
});

const COUNT = statement<{ n: bigint; newest: bigint | null }>(
  "t.versions",
  "select count(*) as n, max(version) as newest from events.outbox where tenant = $1 and stream = 'config'",
);
const ROW = statement<{ version: bigint; kind: string; text: string; visible_to: readonly string[] | null; correlation_id: string }>(
  "t.row",
  "select version, kind, data::text as text, visible_to, correlation_id from events.outbox where tenant = $1 order by version",
);
const ADD = statement("t.add", "insert into thing values ($1)");
const THINGS = statement<{ n: bigint }>("t.things", "select count(*) as n from thing");
const NUMBERS = statement<{ n: bigint; most: bigint; distinct: bigint }>(
  "t.numbers",
  "select count(*) as n, max(writer_n) as most, count(distinct writer_n) as distinct from events.audit_entry",
);

const denseNumbers = async (database: Database): Promise<bigint> => {
  const [row] = await database.run(NUMBERS);
  assert.equal(row!.distinct, row!.n);
  assert.equal(row!.most, row!.n);
  return row!.n;
};

forEachDatabase("a change commits with its events and its audit rows", ["events"], async (t, database) => {
  const { change, bus, integrator } = await testEvents(t, database);
  await database.script("create table thing (n int)");
  const result = await change(async (sql) => {
    await sql.run(ADD, [1]);
    return {
      result: 7,
      events: [
        event("tenant:acme", { visibleTo: ["person:ben"], correlationId: "c1", data: { z: 1, a: { b: [1, null] } } }),
        event("tenant:globex"),
        event("tenant:acme", { kind: "delegation", visibleTo: [] }),
      ],
      entries: [entry("tenant:acme"), entry("tenant:globex")],
    };
  });
  assert.equal(result, 7);
  assert.deepEqual([await bus.head("tenant:acme", "config"), await bus.head("tenant:globex", "config")], [2n, 1n]);
  assert.equal(await bus.head("tenant:acme", "workflow"), 0n);
  const rows = await database.run(ROW, ["tenant:acme"]);
  assert.deepEqual(rows[0], {
    version: 1n,
    kind: "graph",
    text: '{"z":1,"a":{"b":[1,null]}}',
    visible_to: ["person:ben"],
    correlation_id: "c1",
  });
  assert.deepEqual(rows[1]?.visible_to, [], "addressed to nobody is not the same as addressed to all");
  await integrator.integrate();
  assert.equal(await bus.head("tenant:acme", "activity"), 0n);
});

const ACT = statement<{ phase: string; outcome: string; act_id: string }>(
  "t.act",
  "select phase, outcome, act_id from events.audit_entry where log = 'tenant:acme' order by seq",
);

forEachDatabase("an act is opened in one transaction and closed in another", ["events"], async (t, database) => {
  const { change, integrator } = await testEvents(t, database);
  await change(async () => ({ result: 1, entries: [entry("tenant:acme", { phase: "open", outcome: "pending", actId: "act-1" })] }));
  await assert.rejects(
    change(async () => {
      throw new Error("rolled back");
    }),
  );
  await change(async () => ({ result: 1, entries: [entry("tenant:acme", { phase: "close", actId: "act-1" })] }));
  await integrator.integrate();
  assert.deepEqual(await database.run(ACT), [
    { phase: "open", outcome: "pending", act_id: "act-1" },
    { phase: "close", outcome: "ok", act_id: "act-1" },
  ]);
  await denseNumbers(database);
});

forEachDatabase(
  "versions stay dense and in the order of commits under concurrency and rollback",
  ["events"],
  async (t, database, { second }) => {
    const { change, integrator } = await testEvents(t, database);
    const reader = (await second?.()) ?? database;
    const tenants = ["tenant:acme", "tenant:globex", "tenant:initech"];
    let done = false;
    const gaps: unknown[] = [];
    const watch = (async () => {
      while (!done) {
        for (const tenant of tenants) {
          const [seen] = await reader.run(COUNT, [tenant]);
          if (seen!.n !== (seen!.newest ?? 0n)) gaps.push(seen);
        }
        await sleep(1);
      }
    })();
    const one = (n: number): Promise<unknown> =>
      change(async (sql) => {
        // Touched in different orders, so that locks would cross if heads were not raised in one order.
        const order = n % 2 === 0 ? tenants : tenants.toReversed();
        await sql.run(statement("t.now", "select now()"));
        await sleep(Math.random() * 3);
        if (n % 10 === 9) throw new Error("rolled back");
        return { result: n, events: order.map((tenant) => event(tenant, { data: { n } })), entries: [entry("tenant:acme")] };
      }).catch(() => undefined);
    await Promise.all(Array.from({ length: 100 }, (_, n) => one(n)));
    done = true;
    await watch;
    assert.deepEqual(gaps, []);
    for (const tenant of tenants) {
      const rows = await database.run(ROW, [tenant]);
      assert.deepEqual(
        rows.map((row) => row.version),
        Array.from({ length: 90 }, (_, n) => BigInt(n + 1)),
      );
    }
    await integrator.integrate();
    assert.equal(await denseNumbers(database), 91n, "90 changes and the start of the writer");
  },
);

forEachDatabase("what fails after the audit rows were written leaves no trace and no hole", ["events"], async (t, database) => {
  const { change, integrator, recorder, bus } = await testEvents(t, database);
  await database.script("create table thing (n int primary key)");
  const refused: readonly EventDraft[] = [
    event("tenant:acme", { kind: "two\nlines" }),
    event("tenant:acme", { type: "Not a word" }),
    event(""),
  ];
  for (const bad of refused) {
    const failing = change(async (sql) => {
      await sql.run(ADD, [1]);
      return { result: undefined, events: [event("tenant:acme"), bad], entries: [entry("tenant:acme"), entry("tenant:acme")] };
    });
    await assert.rejects(failing, TypeError);
  }
  assert.equal((await database.run(THINGS))[0]?.n, 0n);
  assert.equal(await bus.head("tenant:acme", "config"), 0n);
  await recorder.one(entry("tenant:acme"));
  await integrator.integrate();
  assert.equal(await denseNumbers(database), 2n);
});

forEachDatabase("audit rows that the database refuses leave no trace and no hole", ["events"], async (t, database) => {
  const { change, integrator, recorder } = await testEvents(t, database);
  await database.script("create table thing (n int primary key)");
  const both = () =>
    change(async (sql) => {
      sql.post(ADD, [1]);
      return { result: undefined, entries: [entry("tenant:acme"), entry("tenant:globex")] };
    });
  const refuse = "alter table events.audit_queue add constraint refused check (log <> 'tenant:globex') not valid";
  await database.script(refuse);
  await assert.rejects(both(), { code: "23514", statement: "events.audit_append" });
  assert.equal((await database.run(THINGS))[0]?.n, 0n);
  await database.script("alter table events.audit_queue drop constraint refused");
  await both();
  // What the work posted fails, and takes the rows that came after it along.
  await assert.rejects(both(), { code: "23505", statement: "t.add" });
  await recorder.one(entry("tenant:acme"));
  await integrator.integrate();
  assert.equal(await denseNumbers(database), 4n);
});

forEachDatabase("work that the database asks to try again is recorded once", ["events"], async (t, database) => {
  const { change, integrator, bus } = await testEvents(t, database);
  // Makes the first attempt fail as its very last statement does, as a serialization failure at the commit would.
  await database.script(`
    create sequence attempt;
    create function refuse_first() returns trigger language plpgsql as $$
      begin if nextval('attempt') = 1 then raise exception 'try again' using errcode = '40001'; end if; return null; end $$;
    create constraint trigger refuse after insert on events.outbox deferrable initially deferred for each row execute function refuse_first();
  `);
  let attempts = 0;
  await change(async () => {
    attempts++;
    return { result: undefined, events: [event("tenant:acme")], entries: [entry("tenant:acme"), entry("tenant:globex")] };
  });
  assert.equal(attempts, 2);
  assert.equal(await bus.head("tenant:acme", "config"), 1n);
  await integrator.integrate();
  assert.equal(await denseNumbers(database), 3n);
});

forEachDatabase("an event too large for a frame says so instead", ["events"], async (t, database) => {
  const { change } = await testEvents(t, database);
  await change(async () => ({ result: undefined, events: [event("tenant:acme", { data: { text: "x".repeat(70_000) } })] }));
  const [row] = await database.run(ROW, ["tenant:acme"]);
  assert.deepEqual(JSON.parse(row!.text), { truncated: true, bytes: 70_011 });
});

const KEPT = statement<{ type: string; sink: string; topic: string; lane: number; key: string; subject: string | null; text: string }>(
  "t.kept",
  "select type, sink, topic, lane, key, subject, data::text as text from events.outbox where stream is null order by seq",
);
const AGE = statement("t.age", "update events.outbox set at = at - interval '2 hours' where key = 'old'");

forEachDatabase(
  "what no stream shows is kept for a sink: about a reference, and not once there is none",
  ["events"],
  async (t, database) => {
    const { change } = await testEvents(t, database, { sink: kafkaInUse });
    const kept = (more: Partial<EventDraft>): EventDraft => ({
      type: "signin.failed",
      tenant: "tenant:acme",
      key: "k",
      data: { reason: "first" },
      ...more,
    });
    await change(async () => ({
      result: undefined,
      events: [
        kept({ about: "person:ben" }),
        kept({ about: "person:ben", data: { reason: "second" }, by: "person:ada" }),
        kept({ key: "old" }),
        event("tenant:acme", { type: "thing.changed" }),
      ],
    }));
    const rows = await database.run(KEPT);
    assert.equal(rows.length, 3);
    const [first, second, old] = rows;
    assert.deepEqual([first?.type, first?.sink, first?.topic], ["signin.failed", "kafka", "sessions.events.v1"]);
    assert.match(first?.subject ?? "", /^sr1\./);
    assert.deepEqual(JSON.parse(first?.text ?? ""), { reason: "first", subject_ref: first?.subject });
    const { author, ...data } = JSON.parse(second?.text ?? "") as { author?: { ref: string } };
    assert.deepEqual(data, { reason: "second", subject_ref: second?.subject });
    assert.match(author?.ref ?? "", /^sr1\./);
    assert.notEqual(author?.ref, second?.subject, "who did it, not whom it is about");
    assert.deepEqual([second?.key, second?.lane], [first?.subject, first?.lane], "one subject, one lane");
    assert.deepEqual([old?.key, old?.subject], ["old", null]);
    assert.ok(!JSON.stringify(rows).includes("person:"));
    await database.run(AGE);
    const retention = createRetention({ database, log: silentLog, replayHours: 1 });
    cleanUp(t, () => retention[Symbol.asyncDispose]());
    assert.equal(await retention.sweep(), 1);
    assert.deepEqual(
      (await database.run(KEPT)).map(({ key }) => key),
      [first?.subject, first?.subject],
    );
  },
);
