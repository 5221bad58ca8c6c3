import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import test from "node:test";
import { statement } from "#store/database.ts";
import { silentLog } from "#telemetry/log.ts";
import { cleanUp } from "#testing/clean-up.ts";
import { forEachDatabase } from "#testing/database.ts";
import { createIntegrator, leafHash } from "./integrator.ts";

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

test("the hash of a leaf is that of RFC 6962", () => {
  // The empty leaf's hash, as the certificate transparency test vectors give it.
  assert.equal(leafHash(new Uint8Array()), "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d");
  assert.equal(leafHash(Uint8Array.of(1)), createHash("sha256").update(Uint8Array.of(0, 1)).digest("hex"));
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
        const log = n % 3 === 0 ? "house" : "tenant:acme";
        await sql.run(QUEUE, [idOf(n), log, leafFor(n, log)]);
      }
    });
    // The integrator's own round may have placed some of them already.
    let placed = 0;
    for (let more = 1; more > 0; placed += more) more = await integrator.integrate();
    assert.ok(placed <= 600);
    assert.equal(await integrator.integrate(), 0);
    assert.deepEqual(await database.run(LOGS), [
      { log: "house", origin: "gate.example/house/1", size: 200n },
      { log: "tenant:acme", origin: "gate.example/tenant:acme/1", size: 400n },
    ]);
    const entries = await database.run(ENTRIES);
    for (const log of ["house", "tenant:acme"]) {
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

forEachDatabase("what was recorded last gets its place before the house is dark", ["events"], async (_t, database) => {
  const integrator = createIntegrator({ database, log: silentLog, origin: "gate.example", everyMs: 60_000 });
  await database.run(QUEUE, [idOf(1), "house", leafFor(1, "house")]);
  await integrator[Symbol.asyncDispose]();
  assert.equal((await database.run(ENTRIES)).length, 1);
});
