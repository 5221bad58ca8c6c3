import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { test, type TestContext } from "node:test";
import type { Database } from "#store/database.ts";
import { silentLog } from "#telemetry/log.ts";
import { forEachDatabase, testDatabase } from "#testing/database.ts";
import { graphModules, graphWorld, servedWorld, type GraphWorld } from "#testing/membership.ts";
import { createBudgetNotifier } from "./ledger/budget-notifier.ts";
import { reserve } from "./ledger/reserve.ts";
import { wholeGraph } from "./graph/tenant-scope.ts";
import { createSweeper, type Sweeper } from "./sweeper.ts";

const HOUR = 3_600_000;
const sweeperOver = (t: Pick<TestContext, "after">, world: GraphWorld, database: Database = world.database): Sweeper => {
  const notifier = createBudgetNotifier({ change: world.change, log: silentLog });
  const sweeper = createSweeper({
    database,
    write: world.write,
    notifier,
    log: silentLog,
    everyMs: HOUR,
    logDays: 400,
    now: () => new Date(),
  });
  t.after(async () => {
    await sweeper.stop();
    await notifier.stop();
  });
  return sweeper;
};
const call = (id: string) => ({
  callId: id,
  userId: "person:ben",
  agentId: "agent:hr-assistant",
  toolId: "people.demo.list_employees",
  steps: 1,
  micro: 1000n,
  ttlSeconds: 60,
});

test("ends and beginnings that came are written down once, with event and audit row; others are left", async (t) => {
  const world = await graphWorld(await testDatabase(t, graphModules));
  const sweeper = sweeperOver(t, world);
  const version = async (): Promise<number> => Number((await world.reader.version()).version);
  const before = await version();
  await sweeper.sweep();
  assert.equal(await version(), before, "nothing is due");
  await world.sql("update membership.delegation set expires_at = now() - interval '1 second' where id = 'delegation:ben-hr'");
  await world.sql(
    "update membership.delegation set status = 'paused', hold = 'not_yet_valid', valid_from = now() - interval '1 second' where id = 'delegation:cleo-rep'",
  );
  await sweeper.sweep();
  await sweeper.sweep();
  assert.equal(await version(), before + 1);
  assert.deepEqual(
    await world.sql("select id, status, hold, ended_at is not null as ended, end_reason from membership.delegation order by id"),
    [
      { id: "delegation:ben-hr", status: "expired", hold: null, ended: true, end_reason: "expired" },
      { id: "delegation:ben-old", status: "revoked", hold: null, ended: true, end_reason: "The quarter is closed" },
      { id: "delegation:cleo-rep", status: "active", hold: null, ended: false, end_reason: null },
    ],
  );
  const published = (await world.published()).filter(({ type }) => type.startsWith("delegation."));
  assert.deepEqual(
    published.map(({ type, data }) => [type, data["delegation_id"], data["status"]]),
    [
      ["delegation.expired", "delegation:ben-hr", "expired"],
      ["delegation.resumed", "delegation:cleo-rep", "active"],
    ],
  );
  assert.deepEqual(
    world.entries.map(({ actor, data }) => [actor.kind, data["op"]]),
    [
      ["system", "expired"],
      ["system", "resumed"],
    ],
  );
  assert.deepEqual(await world.sql("select source from membership.graph_change order by version desc limit 1"), [{ source: "sweeper" }]);
});

test("abandoned reservations are charged whole as unknown, and old idempotency keys forgotten", async (t) => {
  const world = await graphWorld(await testDatabase(t, graphModules));
  const sweeper = sweeperOver(t, world);
  for (const id of ["a", "b", "c"]) await reserve(world.database, wholeGraph, call(id));
  await world.sql("update membership.reservation set ends_at = now() - interval '1 second' where call_id <> 'c'");
  await world.sql(
    "insert into membership.idempotency values ('t', 'c', 'POST', '/', 'old', 'd', 200, '{}', '{}', now() - interval '25 hours'), ('t', 'c', 'POST', '/', 'new', 'd', 200, '{}', '{}', now())",
  );
  await sweeper.sweep();
  assert.deepEqual(await world.sql("select call_id, state, outcome from membership.reservation order by call_id"), [
    { call_id: "a", state: "lapsed", outcome: "unknown" },
    { call_id: "b", state: "lapsed", outcome: "unknown" },
    { call_id: "c", state: "held", outcome: null },
  ]);
  assert.deepEqual(
    await world.sql(
      "select used_micro, held_micro, used_steps, held_steps from membership.meter where delegation_id = 'delegation:ben-hr'",
    ),
    [{ used_micro: 2000n, held_micro: 1000n, used_steps: 2n, held_steps: 1n }],
  );
  assert.deepEqual(await world.sql("select key from membership.idempotency"), [{ key: "new" }]);
});

forEachDatabase(
  "one process sweeps at a time; another takes over when the lease is given up or ends",
  graphModules,
  async (t, database, { second }) => {
    const world = await graphWorld(database);
    const one = sweeperOver(t, world);
    const other = sweeperOver(t, world, second === undefined ? database : await second());
    assert.deepEqual([await one.sweep(), await other.sweep(), await one.sweep()], [true, false, true]);
    await world.sql("update membership.job_lease set until = now() - interval '1 second'");
    assert.deepEqual([await other.sweep(), await one.sweep()], [true, false]);
    await other.stop();
    assert.equal(await one.sweep(), true);
  },
);

test("a meter's moves are told at once, then at most every half second, the last one always, to those it concerns", async (t) => {
  const world = await graphWorld(await testDatabase(t, graphModules));
  const notifier = createBudgetNotifier({ change: world.change, log: silentLog });
  const published = async () => (await world.published()).filter(({ type }) => type === "budget.moved");
  for (let index = 0; index < 10; index++) {
    await reserve(world.database, wholeGraph, call(`m${index}`));
    notifier.moved("delegation:ben-hr");
  }
  await notifier.stop();
  const events = await published();
  assert.equal(events.length, 2, "the first and, at the stop, the last");
  assert.deepEqual(events.at(-1)?.data, {
    delegation_id: "delegation:ben-hr",
    steps_left: 40,
    budget_left_usd: 4.99,
    used_steps: 0,
    used_usd: 0,
    held_steps: 10,
    held_usd: 0.01,
  });
  assert.deepEqual(
    events.map(({ kind, tenant, visible_to }) => [kind, tenant, visible_to]),
    [
      ["budget", "tenant:acme", ["person:ben"]],
      ["budget", "tenant:acme", ["person:ben"]],
    ],
  );
  notifier.moved("delegation:ben-hr");
  assert.equal((await published()).length, 2, "after the stop nothing is told");

  const later = createBudgetNotifier({ change: world.change, log: silentLog });
  later.moved("delegation:ben-hr");
  later.moved("delegation:ben-hr");
  later.moved("delegation:cleo-rep");
  for (let waited = 0; (await published()).length < 5 && waited < 100; waited++) await sleep(50);
  assert.equal((await published()).length, 5, "each delegation has its own pace, and the second move follows");
  await later.stop();
});

test("that most of the limits are used up, and all of them, is told once each time it comes to that", async (t) => {
  const world = await graphWorld(await testDatabase(t, graphModules));
  const published = async (used: string): Promise<readonly unknown[]> => {
    const before = (await world.published()).length;
    await world.sql(`update membership.meter set ${used} where delegation_id = 'delegation:ben-hr'`);
    // Two processes saw it move.
    const notifiers = [1, 2].map(() => createBudgetNotifier({ change: world.change, log: silentLog }));
    for (const notifier of notifiers) notifier.moved("delegation:ben-hr");
    for (const notifier of notifiers) await notifier.stop();
    return (await world.published())
      .slice(before)
      .filter(({ type }) => type !== "budget.moved")
      .map(({ type, kind, visible_to, data }) => [type, kind, visible_to, data["percent"] ?? data["op"]]);
  };
  const [ben] = [["person:ben"]];
  const threshold = (percent: number) => ["budget.threshold", "budget", ben, percent];
  assert.deepEqual(await published("used_steps = 39"), []);
  assert.deepEqual(await published("used_steps = 40"), [threshold(80)]);
  assert.deepEqual(await published("used_steps = 49"), []);
  assert.deepEqual(await published("used_steps = 50"), [threshold(100), ["delegation.exhausted", "delegation", ben, "exhausted"]]);
  assert.deepEqual(await published("used_steps = 50"), []);
  assert.deepEqual(await published("limit_steps = 100"), [], "more was given");
  assert.deepEqual(await published("used_steps = 80"), [threshold(80)], "and used up again");
  assert.deepEqual(await published("used_micro = limit_micro"), [threshold(100), ["delegation.exhausted", "delegation", ben, "exhausted"]]);
});

forEachDatabase(
  "the change log goes back so many days, and keeps the last word about each node and edge",
  graphModules,
  async (t, database) => {
    const world = await servedWorld(t, database);
    const rename = (name: string) => world.put({ id: "group:renamed", kind: "Group", name, tenant_id: "tenant:acme" });
    for (const name of ["one", "two"]) await rename(name);
    await world.sql("update membership.graph_change set at = now() - interval '401 days'");
    const old = Number((await world.reader.version()).version);
    await rename("three");
    const sweeper = createSweeper({
      ...world,
      notifier: createBudgetNotifier({ ...world, log: silentLog }),
      log: silentLog,
      everyMs: HOUR,
      logDays: 400,
      now: () => new Date(),
      keepEveryMs: 0,
    });
    t.after(() => sweeper.stop());
    const log = (query = "") => world.call("ada", "GET", `/api/v1/graph/changes?limit=500${query}`);
    const before = (await log()).body.items.length;
    assert.ok(before > 3);
    assert.equal((await log("&since=0")).status, 200);
    await sweeper.sweep();
    await sweeper.sweep();
    assert.deepEqual(
      (await log()).body.items.map(({ version }: { version: number }) => version),
      [old + 1],
    );
    assert.equal((await log(`&since=${old + 1}`)).body.items.length, 1);
    for (const since of [0, 1, old]) {
      const reply = await log(`&since=${since}`);
      assert.deepEqual([reply.status, reply.body.code, reply.body.oldest_version], [422, "too_old", old + 1]);
    }
    const ops = await world.sql<{ subject: string; count: number }>(
      "select subject, count(*)::int as count from membership.graph_change_op group by subject having count(*) > 1",
    );
    assert.deepEqual(ops, [], "one word about each");
    const [{ nodes } = { nodes: 0 }] = await world.sql<{ nodes: number }>(
      "select count(*)::int as nodes from membership.node n where not exists (select 1 from membership.graph_change_op o where o.subject = n.id)",
    );
    assert.equal(nodes, 0, "a word about every one");
    const empty = await world.sql(
      "select 1 from membership.graph_change c where not exists (select 1 from membership.graph_change_op o where o.version = c.version)",
    );
    assert.deepEqual(empty, []);
  },
);
