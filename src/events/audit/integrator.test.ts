import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { statement, type Database } from "#store/database.ts";
import { setTimeout as sleep } from "node:timers/promises";
import { silentLog } from "#telemetry/log.ts";
import { cleanUp } from "#testing/clean-up.ts";
import { forEachDatabase } from "#testing/database.ts";
import { until } from "#testing/until.ts";
import { createIntegrator } from "./integrator.ts";

const QUEUE = statement("t.queue", "insert into events.audit_queue (entry_id, log, leaf) values ($1, $2, convert_to($3, 'UTF8'))");
const LOGS = statement<{ log: string; origin: string; size: bigint }>(
  "t.logs",
  "select log, origin, size from events.audit_log order by log",
);
const ENTRIES = statement<{
  log: string;
  seq: bigint;
  entry_id: string;
  tool: string | null;
  resource_ref: string | null;
  run_id: string | null;
}>("t.entries", "select log, seq, entry_id, tool, resource_ref, run_id from events.audit_entry order by log, seq");

const idOf = (n: number): string => `019a0000-0000-7000-8000-${n.toString().padStart(12, "0")}`;
const leafFor = (n: number, log: string): string =>
  JSON.stringify({
    entry_id: idOf(n),
    at: "2026-11-21T04:00:00.000Z",
    log,
    writer: { id: "w", n },
    category: "workflow",
    phase: "single",
    act_id: `act-${n}`,
    outcome: "ok",
    actor: { subject_ref: "sr1.x" },
    resource: { type: "secret", ref: "hr1.1.x" },
    correlation_id: "c",
    data: { tool: "t", run_id: "r" },
  });

forEachDatabase("the hash of a leaf is that of RFC 6962, and the leaf stays as it was", ["events"], async (t, database) => {
  const integrator = createIntegrator({ database, log: silentLog, origin: "gate.example", everyMs: 60_000 });
  cleanUp(t, () => integrator[Symbol.asyncDispose]());
  const leaf = leafFor(1, "internal").replace('"t"', '"\u00fc \u{1f600} \\\\ \\""');
  await database.run(QUEUE, [idOf(1), "internal", leaf]);
  await integrator.integrate();
  const [row] = await database.run<{ leaf: Uint8Array; leaf_hash: Uint8Array; tool: string }>(
    statement("t.hash", "select leaf, leaf_hash, tool from events.audit_entry"),
  );
  assert.equal(Buffer.from(row!.leaf).toString("utf8"), leaf);
  assert.equal(row!.tool, '\u00fc \u{1f600} \\ "');
  const hash = createHash("sha256").update(Uint8Array.of(0)).update(leaf, "utf8").digest("hex");
  assert.equal(Buffer.from(row!.leaf_hash).toString("hex"), hash);
});

forEachDatabase("rounds of several at once place each entry once, without a gap", ["events"], async (t, database, { second }) => {
  const all = [database, (await second?.()) ?? database, (await second?.()) ?? database].map((one) =>
    createIntegrator({ database: one, log: silentLog, origin: "gate.example", everyMs: 60_000 }),
  );
  for (const integrator of all) cleanUp(t, () => integrator[Symbol.asyncDispose]());
  for (let n = 0; n < 120; n += 3) {
    const queued = [n, n + 1, n + 2].map((at) =>
      database.run(QUEUE, [idOf(at), at % 2 === 0 ? "internal" : "tenant:acme", leafFor(at, "x")]),
    );
    await Promise.all([...queued, ...all.map((integrator) => integrator.integrate())]);
  }
  await all[0]!.integrate();
  const entries = await database.run(ENTRIES);
  assert.equal(new Set(entries.map(({ entry_id }) => entry_id)).size, 120);
  for (const log of ["internal", "tenant:acme"]) {
    const places = entries.filter((entry) => entry.log === log).map(({ seq }) => seq);
    assert.deepEqual(
      places,
      Array.from({ length: 60 }, (_, place) => BigInt(place)),
    );
  }
  assert.deepEqual(
    (await database.run(LOGS)).map(({ size }) => size),
    [60n, 60n],
  );
});

forEachDatabase(
  "entries get dense places in their own log, in the order of their ids, however many wait",
  ["events"],
  async (t, database) => {
    const integrator = createIntegrator({ database, log: silentLog, origin: "gate.example", everyMs: 60_000 });
    cleanUp(t, () => integrator[Symbol.asyncDispose]());
    const order = Array.from({ length: 600 }, (_, n) => n).sort((one, other) => ((one * 7919) % 600) - ((other * 7919) % 600));
    await database.transaction(async (sql) => {
      for (const n of order) {
        const log = n % 3 === 0 ? "internal" : "tenant:acme";
        await sql.run(QUEUE, [idOf(n), log, leafFor(n, log)]);
      }
    });
    // The integrator's own round may have placed some of them already.
    let placed = 0;
    for (let more = 1; more > 0; placed += more) more = await integrator.integrate();
    assert.ok(placed <= 600);
    assert.equal(await integrator.integrate(), 0);
    assert.deepEqual(await database.run(LOGS), [
      { log: "internal", origin: "gate.example/internal/1", size: 200n },
      { log: "tenant:acme", origin: "gate.example/tenant:acme/1", size: 400n },
    ]);
    const entries = await database.run(ENTRIES);
    for (const log of ["internal", "tenant:acme"]) {
      const mine = entries.filter((entry) => entry.log === log);
      assert.deepEqual(
        mine.map((entry) => entry.seq),
        mine.map((_, place) => BigInt(place)),
      );
      assert.deepEqual(
        mine.map((entry) => entry.entry_id),
        mine.map((entry) => entry.entry_id).toSorted(),
      );
    }
    assert.deepEqual([entries[0]!.tool, entries[0]!.resource_ref, entries[0]!.run_id], ["t", "hr1.1.x", "r"]);
  },
);

forEachDatabase("what was recorded last gets its place before Sallyport is dark", ["events"], async (_t, database) => {
  const integrator = createIntegrator({ database, log: silentLog, origin: "gate.example", everyMs: 60_000 });
  await database.run(QUEUE, [idOf(1), "internal", leafFor(1, "internal")]);
  await integrator[Symbol.asyncDispose]();
  assert.equal((await database.run(ENTRIES)).length, 1);
});

forEachDatabase(
  "while nothing is recorded the queue is hardly looked at, and at once when something is",
  ["events"],
  async (t, database) => {
    let rounds = 0;
    const counted: Database = {
      ...database,
      run: (text, values) => {
        if (text.name === "events.integrate") rounds += 1;
        return database.run(text, values);
      },
    };
    const integrator = createIntegrator({ database: counted, log: silentLog, origin: "gate.example" });
    cleanUp(t, () => integrator[Symbol.asyncDispose]());
    // It rests once two seconds went by without an entry.
    for (let before = -1; before !== rounds; await sleep(1000)) before = rounds;
    const before = rounds;
    await sleep(1000);
    assert.ok(rounds - before <= 1, `${rounds - before} rounds in a second`);
    await database.run(QUEUE, [idOf(1), "internal", leafFor(1, "internal")]);
    integrator.wake();
    await until(async () => (await database.run(ENTRIES)).length === 1);
  },
);
