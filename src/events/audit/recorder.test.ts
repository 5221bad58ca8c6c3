import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import canonicalize from "canonicalize";
import { Problem } from "#contract/problem.ts";
import { statement, type Database } from "#store/database.ts";
import { createMetrics } from "#telemetry/metrics.ts";
import { silentLog } from "#telemetry/log.ts";
import { cleanUp } from "#testing/clean-up.ts";
import { forEachDatabase, forPostgres } from "#testing/database.ts";
import { openPostgres } from "#testing/postgres-database.ts";
import { testEvents } from "#testing/events.ts";
import { createIntegrator } from "./integrator.ts";
import { createRecorder } from "./recorder.ts";
import type { EntryDraft } from "./entry.ts";

const draft = (more: Partial<EntryDraft> = {}): EntryDraft => ({
  tenant: "tenant:acme",
  category: "tool_call",
  outcome: "ok",
  actor: { subject: "person:ben", kind: "person", agent_id: "agent:hr-assistant", delegation_id: "delegation:ben-hr" },
  via: { service: "test" },
  resource: { type: "tool", id: "people.demo.list_employees" },
  correlationId: "c-1",
  data: { tool: "people.demo.list_employees" },
  ...more,
});

interface Entry {
  readonly log: string;
  readonly seq: bigint;
  readonly leaf: Uint8Array;
  readonly leaf_hash: Uint8Array;
  readonly phase: string;
  readonly act_id: string;
  readonly outcome: string;
  readonly code: string | null;
  readonly subject_ref: string;
  readonly tool: string | null;
  readonly writer_n: bigint;
  readonly category: string;
}
const ENTRIES = statement<Entry>("t.entries", "select * from events.audit_entry where log = $1 order by seq");
const QUEUE = statement<{ n: bigint }>("t.queue", "select count(*) as n from events.audit_queue");
const LEAVES = statement<{ text: string }>(
  "t.leaves",
  "select convert_from(leaf, 'UTF8') as text from events.audit_queue union all select convert_from(leaf, 'UTF8') from events.audit_entry",
);

const isBlocked = (error: unknown): boolean => {
  assert.ok(error instanceof Problem);
  assert.equal(error.code, "audit_unavailable");
  assert.equal(error.status, 503);
  assert.equal(error.options.headers?.["retry-after"], "5");
  return true;
};

const until = async (holds: () => boolean | Promise<boolean>): Promise<void> => {
  for (const deadline = Date.now() + 10_000; !(await holds()); await sleep(10))
    assert.ok(Date.now() < deadline, "it did not happen in time");
};

/** Takes the tables away, as an operator's mistake would. */
const hide = (database: Database): Promise<void> => database.script("alter table events.audit_queue rename to audit_queue_hidden");
const restore = (database: Database): Promise<void> => database.script("alter table events.audit_queue_hidden rename to audit_queue");

forEachDatabase("an open act is committed before it may start, and its close with its events", ["events"], async (t, database) => {
  const { recorder, integrator, bus } = await testEvents(t, database);
  const { outcome: _outcome, ...opened } = draft();
  const act = await recorder.open(opened, "call-1");
  assert.equal(act.actId, "call-1");
  const leaves = (await database.run(LEAVES)).map((row) => JSON.parse(row.text) as Record<string, unknown>);
  assert.ok(leaves.some((leaf) => leaf["act_id"] === "call-1" && leaf["phase"] === "open" && leaf["outcome"] === "pending"));

  const reported = {
    type: "budget.changed",
    tenant: "tenant:acme",
    stream: "config",
    kind: "budget",
    key: "d",
    data: { steps_left: 4 },
  } as const;
  assert.equal(await act.close("ok", { tool: "people.demo.list_employees", rows_out: 3 }, { code: "fine", events: [reported] }), "closed");
  assert.equal(await act.close("error", {}), "closed", "a second close changes nothing");
  assert.equal(await bus.head("tenant:acme", "config"), 1n);
  await integrator.integrate();
  const entries = await database.run(ENTRIES, ["tenant:acme"]);
  assert.deepEqual(
    entries.map(({ seq, phase, outcome, code, act_id, tool }) => ({ seq, phase, outcome, code, act_id, tool })),
    [
      { seq: 0n, phase: "open", outcome: "pending", code: null, act_id: "call-1", tool: "people.demo.list_employees" },
      { seq: 1n, phase: "close", outcome: "ok", code: "fine", act_id: "call-1", tool: "people.demo.list_employees" },
    ],
  );
});

forEachDatabase("entries keep their canonical bytes, hash as RFC 6962 says, and name nobody", ["events"], async (t, database) => {
  const { recorder, integrator } = await testEvents(t, database);
  const act = await recorder.open(draft({ sealed: { ip: "192.0.2.1" } }));
  await act.close("ok", { by: "person:ben" });
  await recorder.one(draft({ tenant: "tenant:globex", category: "sign_in", actor: { subject: "person:ben", kind: "person" } }));
  await integrator.integrate();
  const acme = await database.run(ENTRIES, ["tenant:acme"]);
  const globex = await database.run(ENTRIES, ["tenant:globex"]);
  for (const entry of [...acme, ...globex]) {
    const text = Buffer.from(entry.leaf).toString("utf8");
    assert.equal(text, canonicalize(JSON.parse(text)));
    assert.ok(!text.includes("person:") && !text.includes("192.0.2.1"), text);
    assert.deepEqual(
      Buffer.from(entry.leaf_hash),
      createHash("sha256")
        .update(Buffer.from([0]))
        .update(entry.leaf)
        .digest(),
    );
  }
  assert.equal(acme[0]!.subject_ref, acme[1]!.subject_ref);
  assert.notEqual(acme[0]!.subject_ref, globex[0]!.subject_ref, "one person is not to be recognised across tenants");
  assert.ok(Buffer.from(acme[0]!.leaf).includes('"sealed":"'));
});

forEachDatabase(
  "a thousand entries at once are all there, in dense numbers and places, also with two integrators",
  ["events"],
  async (t, database, { second }) => {
    const { recorder } = await testEvents(t, database);
    const other = createIntegrator({ database: (await second?.()) ?? database, log: silentLog, origin: "test.sallyport", everyMs: 5 });
    cleanUp(t, () => other[Symbol.asyncDispose]());
    await Promise.all(
      Array.from({ length: 1_000 }, (_, n) =>
        recorder.one(draft({ tenant: n % 2 === 0 ? "tenant:acme" : "tenant:globex", actId: `act-${n}` })),
      ),
    );
    await until(async () => (await database.run(QUEUE))[0]?.n === 0n);
    const [acme, globex, instance] = await Promise.all(
      ["tenant:acme", "tenant:globex", "internal"].map((log) => database.run(ENTRIES, [log])),
    );
    for (const log of [acme!, globex!]) {
      assert.deepEqual(
        log.map((entry) => entry.seq),
        Array.from({ length: 500 }, (_, n) => BigInt(n)),
      );
    }
    const numbers = [...acme!, ...globex!, ...instance!].map((entry) => Number(entry.writer_n)).sort((one, two) => one - two);
    assert.deepEqual(
      numbers,
      Array.from({ length: 1_001 }, (_, n) => n + 1),
    );
    assert.equal(new Set([...acme!, ...globex!].map((entry) => entry.act_id)).size, 1_000);
  },
);

forEachDatabase("what cannot be recorded must not start; a close waits until it can", ["events"], async (t, database) => {
  const { recorder, integrator } = await testEvents(t, database);
  const act = await recorder.open(draft(), "before");
  await integrator.integrate();
  await hide(database);
  await assert.rejects(recorder.open(draft(), "refused"), isBlocked);
  await assert.rejects(recorder.one(draft()), isBlocked);
  assert.equal(await act.close("ok", {}), "pending");
  await restore(database);
  await recorder.one(draft({ actId: "after" }));
  await until(async () => {
    await integrator.integrate();
    return (await database.run(ENTRIES, ["tenant:acme"])).length === 3;
  });
  const entries = await database.run(ENTRIES, ["tenant:acme"]);
  assert.deepEqual(entries.map((entry) => `${entry.act_id} ${entry.phase}`).sort(), ["after single", "before close", "before open"]);
  const instance = await database.run(ENTRIES, ["internal"]);
  assert.deepEqual([...entries, ...instance].map((entry) => Number(entry.writer_n)).sort(), [1, 2, 3, 4], "the refused ones left no hole");
});

forEachDatabase("one entry that cannot be written does not take the others along", ["events"], async (t, database) => {
  const { recorder } = await testEvents(t, database);
  const results = await Promise.allSettled([
    recorder.one(draft()),
    recorder.one(draft({ code: "x".repeat(20_000) })),
    recorder.one(draft()),
  ]);
  assert.deepEqual(
    results.map((result) => result.status),
    ["fulfilled", "rejected", "fulfilled"],
  );
});

forEachDatabase("a close whose events are malformed is written without them", ["events"], async (t, database) => {
  const { recorder, integrator, bus } = await testEvents(t, database);
  const act = await recorder.open(draft(), "call-1");
  const bad = { type: "budget.changed", tenant: "tenant:acme", stream: "config", kind: "bad\nkind", key: "k", data: {} } as const;
  await act.close("ok", {}, { events: [bad] });
  await until(async () => {
    await integrator.integrate();
    return (await database.run(ENTRIES, ["tenant:acme"])).length === 2;
  });
  assert.equal(await bus.head("tenant:acme", "config"), 0n);
});

forEachDatabase("too many open acts let no more begin until one is closed", ["events"], async (t, database) => {
  const { integrator, bus } = await testEvents(t, database);
  const metrics = createMetrics();
  const recorder = await createRecorder({
    database,
    writerId: "test:few",
    service: "test",
    log: silentLog,
    metrics,
    now: () => new Date(),
    kek: randomBytes(32),
    bus,
    integrator,
    maxOpenActs: 2,
  });
  cleanUp(t, () => recorder[Symbol.asyncDispose]());
  const first = await recorder.open(draft());
  await recorder.open(draft());
  await assert.rejects(recorder.open(draft()), isBlocked);
  await first.close("ok", {});
  await recorder.open(draft());
  const text = await metrics.text();
  assert.match(text, /audit_open_acts 2\n/);
  assert.match(text, /audit_blocked_total\{reason="open_acts"\} 1\n/);
});

forPostgres("an entry that lands too late is closed as refused, for its act never started", ["events"], async (t, url) => {
  const database = await openPostgres(url);
  cleanUp(t, () => database[Symbol.asyncDispose]());
  const { integrator, bus } = await testEvents(t, database);
  const recorder = await createRecorder({
    database,
    writerId: "test:late",
    service: "test",
    log: silentLog,
    metrics: createMetrics(),
    now: () => new Date(),
    kek: randomBytes(32),
    bus,
    integrator,
    openTimeoutMs: 100,
  });
  cleanUp(t, () => recorder[Symbol.asyncDispose]());
  await integrator[Symbol.asyncDispose]();
  const locked = Promise.withResolvers<void>();
  const unlock = Promise.withResolvers<void>();
  const blocker = database.transaction(async (sql) => {
    await sql.script("lock table events.audit_queue in access exclusive mode");
    locked.resolve();
    await unlock.promise;
  });
  await locked.promise;
  const late = recorder.open(draft(), "late");
  // Comes while the first is under way, and is taken back before it is.
  const never = recorder.open(draft(), "never");
  await assert.rejects(late, isBlocked);
  await assert.rejects(never, isBlocked);
  unlock.resolve();
  await blocker;
  await until(async () => (await database.run(LEAVES)).filter((row) => row.text.includes('"act_id":"late"')).length === 2);
  const leaves = (await database.run(LEAVES)).map((row) => JSON.parse(row.text) as Record<string, unknown>);
  const closed = leaves.find((leaf) => leaf["act_id"] === "late" && leaf["phase"] === "close");
  assert.deepEqual([closed?.["outcome"], closed?.["code"]], ["refused", "audit_unavailable"]);
  assert.ok(!leaves.some((leaf) => leaf["act_id"] === "never"));
});
