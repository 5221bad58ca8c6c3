import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test, { type TestContext } from "node:test";
import { statement, type Database, type StoreLog } from "#store/database.ts";
import { createPglite } from "#store/pglite.ts";
import { startChild } from "#testing/child.ts";
import { cleanUp } from "#testing/clean-up.ts";
import { forPostgres } from "#testing/database.ts";
import { testEvents } from "#testing/events.ts";
import { openPostgres } from "#testing/postgres-database.ts";
import type { Settle } from "./entry.ts";

const log: StoreLog = { info: () => {}, warn: () => {}, error: () => {} };

interface Entry {
  readonly act_id: string;
  readonly phase: string;
  readonly outcome: string;
  readonly code: string | null;
  readonly subject_ref: string;
  readonly writer: string;
  readonly text: string;
}
const ENTRIES = statement<Entry>(
  "t.entries",
  "select act_id, phase, outcome, code, subject_ref, writer, convert_from(leaf, 'UTF8') as text from events.audit_entry where log = $1 order by seq",
);
const WRITERS = statement<{ writer: string; open: boolean }>(
  "t.writers",
  "select writer, closed_at is null as open from events.audit_writer order by boot_at",
);

/** A process that opens acts, closes every other one, says so, and never ends by itself. */
const worker = (open: string): string => `
  const { createIntegrator } = await import(new URL("events/audit/integrator.ts", src));
  const { createRecorder } = await import(new URL("events/audit/recorder.ts", src));
  const { createMetrics } = await import(new URL("telemetry/metrics.ts", src));
  const { silentLog: log } = await import(new URL("telemetry/log.ts", src));
  ${open}
  const integrator = createIntegrator({ database, log, origin: "test.sallyport" });
  const recorder = await createRecorder({ database, writerId: "worker", service: "test", log, metrics: createMetrics(), now: () => new Date(), kek: new Uint8Array(32), integrator, maxOpenActs: Number.MAX_SAFE_INTEGER });
  console.log("ready");
  for (let n = 1; ; n++) {
    const act = await recorder.open({
      tenant: "tenant:acme", category: "tool_call", correlationId: "c-" + n, via: { service: "test" }, data: { tool: "t" },
      actor: { subject: "person:ben", kind: "person", agent_id: "agent:hr", delegation_id: "delegation:d" }, resource: { type: "tool", id: "t" },
    }, "act-" + n);
    console.log("open " + n);
    if (n % 2 === 0) {
      await act.close("ok", {});
      console.log("closed " + n);
    }
  }
`;

/** Lets the process work and kills it between two of its statements; answers what it said it had done. */
const workAndDie = async (t: TestContext, code: string): Promise<{ opened: Set<string>; closed: Set<string> }> => {
  const child = startChild(code);
  cleanUp(t, () => child.kill());
  assert.equal(await child.line(), "ready");
  const opened = new Set<string>();
  const closed = new Set<string>();
  while (opened.size < 40) {
    const [word, n] = (await child.line()).split(" ");
    (word === "open" ? opened : closed).add(`act-${n}`);
  }
  await child.kill();
  return { opened, closed };
};

const checkRecovery = async (t: TestContext, database: Database, said: { opened: Set<string>; closed: Set<string> }): Promise<void> => {
  const { recorder, integrator } = await testEvents(t, database);
  const settled: Parameters<Settle>[0][] = [];
  const count = await recorder.recover(async (open) => void settled.push(open));
  await integrator.integrate();
  const entries = await database.run(ENTRIES, ["tenant:acme"]);
  const opens = entries.filter((entry) => entry.phase === "open");
  const closes = Map.groupBy(
    entries.filter((entry) => entry.phase === "close"),
    (entry) => entry.act_id,
  );

  for (const act of said.opened)
    assert.ok(
      opens.some((entry) => entry.act_id === act),
      `${act} was acknowledged and is there`,
    );
  for (const open of opens) assert.equal(closes.get(open.act_id)?.length, 1, `${open.act_id} is closed once`);
  for (const act of said.closed) assert.equal(closes.get(act)?.[0]?.outcome, "ok");
  const unknown = [...closes.values()].flat().filter((entry) => entry.outcome === "unknown");
  assert.ok(unknown.length >= 20);
  assert.equal(count, unknown.length);
  assert.deepEqual(settled.map((open) => open.actId).sort(), unknown.map((entry) => entry.act_id).sort());
  assert.deepEqual(settled[0], { actId: settled[0]!.actId, category: "tool_call", tenant: "tenant:acme" });
  const open = opens.find((entry) => entry.act_id === unknown[0]!.act_id)!;
  assert.equal(unknown[0]!.code, "outcome_unknown");
  assert.equal(unknown[0]!.subject_ref, open.subject_ref, "the same person");
  const actorOf = (entry: Entry): unknown => (JSON.parse(entry.text) as { actor: unknown }).actor;
  assert.deepEqual(actorOf(unknown[0]!), actorOf(open));

  const instance = (await database.run(ENTRIES, ["internal"])).map((entry) => JSON.parse(entry.text) as { data: Record<string, unknown> });
  const ended = instance.find((entry) => entry.data["event"] === "writer_ended");
  assert.equal(ended?.data["writer"], "worker");
  assert.equal(ended?.data["unknown"], count);
  assert.equal((await database.run(WRITERS)).find((row) => row.writer === "worker")?.open, false);
  assert.equal(await recorder.recover(async () => assert.fail("nothing is left to settle")), 0);
};

test("acts of a killed process are settled as unknown when Sallyport starts again (embedded)", { timeout: 60_000 }, async (t) => {
  const dataFolder = await mkdtemp(join(tmpdir(), "sallyport-recover-"));
  cleanUp(t, () => rm(dataFolder, { recursive: true, force: true }));
  const said = await workAndDie(
    t,
    worker(`
      const { createPglite } = await import(new URL("store/pglite.ts", src));
      const { migrate } = await import(new URL("store/migrate.ts", src));
      const database = await createPglite({ dataFolder: ${JSON.stringify(dataFolder)}, log });
      await migrate(database, [{ module: "events", folder: new URL("events/migrations/", src) }]);
    `),
  );
  const database = await createPglite({ dataFolder, log });
  cleanUp(t, () => database[Symbol.asyncDispose]());
  await checkRecovery(t, database, said);
});

const onPostgres = (url: string): string => `
  const { createPostgres } = await import(new URL("store/postgres.ts", src));
  const database = await createPostgres({ url: ${JSON.stringify(url)}, poolSize: 3, log });
`;

forPostgres("acts of a killed process are settled as unknown by another one (PostgreSQL)", ["events"], async (t, url) => {
  const said = await workAndDie(t, worker(onPostgres(url)));
  const database = await openPostgres(url);
  cleanUp(t, () => database[Symbol.asyncDispose]());
  await checkRecovery(t, database, said);
});

forPostgres("acts of a living process are left alone", ["events"], async (t, url) => {
  const child = startChild(worker(onPostgres(url)));
  cleanUp(t, () => child.kill());
  assert.equal(await child.line(), "ready");
  while ((await child.line()) !== "open 5");
  const database = await openPostgres(url);
  cleanUp(t, () => database[Symbol.asyncDispose]());
  const { recorder } = await testEvents(t, database);
  assert.equal(await recorder.recover(async () => assert.fail("it lives")), 0);
});

forPostgres("when what an act holds cannot be settled it stays open until it can", ["events"], async (t, url) => {
  await workAndDie(t, worker(onPostgres(url)));
  const database = await openPostgres(url);
  cleanUp(t, () => database[Symbol.asyncDispose]());
  const { recorder } = await testEvents(t, database);
  const settled: string[] = [];
  await assert.rejects(
    recorder.recover(async ({ actId }) => {
      if (settled.length === 3) throw new Error("membership is away");
      settled.push(actId);
    }),
    /membership is away/,
  );
  const count = await recorder.recover(async ({ actId }) => void settled.push(actId));
  assert.ok(count >= 17);
  assert.equal(new Set(settled).size, settled.length, "none is settled twice");
});

forPostgres("acts that their module closes itself stay open, and are not asked about again", ["events"], async (t, url) => {
  await workAndDie(t, worker(onPostgres(url)));
  const database = await openPostgres(url);
  cleanUp(t, () => database[Symbol.asyncDispose]());
  const { recorder, integrator } = await testEvents(t, database);
  let left = 0;
  const leave: Settle = async () => {
    left++;
    return "left";
  };
  assert.equal(await recorder.recover(leave), 0);
  assert.ok(left >= 20);
  const before = left;
  assert.equal(await recorder.recover(leave), 0);
  assert.equal(left, before);
  await integrator.integrate();
  const entries = await database.run(ENTRIES, ["tenant:acme"]);
  assert.equal(entries.filter(({ outcome }) => outcome === "unknown").length, 0);
});
