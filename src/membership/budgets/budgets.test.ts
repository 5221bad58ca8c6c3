import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { Problem } from "#contract/problem.ts";
import { statement, type Database } from "#store/database.ts";
import { forEachDatabase, testDatabase } from "#testing/database.ts";
import { graphModules, graphWorld, servedWorld } from "#testing/membership.ts";
import { scopeOfTenant, wholeGraph } from "#membership/graph/tenant-scope.ts";
import { lapseOne, release, settle } from "#membership/ledger/close-reservation.ts";
import { reserve, type ReserveAsk } from "#membership/ledger/reserve.ts";
import { findLimit, limitsOfPerson, putLimit, type LimitDraft } from "./limits.ts";

const acme = scopeOfTenant("tenant:acme");
const ask = (micro: bigint, more: Partial<ReserveAsk> = {}): ReserveAsk => ({
  callId: crypto.randomUUID(),
  userId: "person:ben",
  agentId: "agent:hr-assistant",
  toolId: "people.demo.get_employee",
  steps: 1,
  micro,
  ttlSeconds: 120,
  ...more,
});
const limit = (more: Partial<LimitDraft> = {}): LimitDraft => ({
  tenantId: "tenant:acme",
  scope: "user",
  nodeId: "person:ben",
  agentId: undefined,
  period: "daily",
  limitMicro: 10_000n,
  changedBy: "person:ada",
  ...more,
});
const put = (database: Database, more: Partial<LimitDraft> = {}): Promise<string> =>
  database.transaction((sql) => putLimit(sql, limit(more)));
const stand = async (database: Database, id: string) => {
  const found = await findLimit(database, acme, id);
  assert.ok(found);
  return [found.used_usd, found.held_usd];
};
const refused = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => "held",
    (error: unknown) =>
      error instanceof Problem ? `${error.status} ${error.code} ${JSON.stringify(error.options.members)}` : String(error),
  );

forEachDatabase("a limit of the day holds, charges and gives back, and refuses what goes beyond", graphModules, async (_t, database) => {
  await graphWorld(database);
  const id = await put(database);
  const first = await reserve(database, wholeGraph, ask(6_000n));
  assert.deepEqual(await stand(database, id), [0, 0.006]);
  assert.equal(await refused(reserve(database, wholeGraph, ask(4_001n))), `409 budget_exhausted {"limit_id":"${id}"}`);
  assert.deepEqual(await stand(database, id), [0, 0.006], "a refusal holds nothing");
  const second = await reserve(database, wholeGraph, ask(4_000n));
  await settle(database, wholeGraph, first.reply.reservation_id, { steps: 1, micro: 1_000n, outcome: "ok" });
  assert.deepEqual(await stand(database, id), [0.001, 0.004]);
  await release(database, wholeGraph, second.reply.reservation_id);
  assert.deepEqual(await stand(database, id), [0.001, 0]);
  assert.equal(await refused(reserve(database, wholeGraph, ask(0n))), "held", "what costs nothing needs no budget");
  assert.equal(await refused(reserve(database, wholeGraph, ask(9_001n))), `409 budget_exhausted {"limit_id":"${id}"}`);
});

const METER = statement<{ held: bigint }>(
  "t.meter",
  "select held_micro as held from membership.meter where delegation_id = 'delegation:ben-hr'",
);

forEachDatabase("what a refused reserve had touched is as it was", graphModules, async (_t, database) => {
  await graphWorld(database);
  await put(database, { scope: "tenant", nodeId: "tenant:acme", limitMicro: 1_000_000n });
  await put(database, { limitMicro: 1n });
  await refused(reserve(database, wholeGraph, ask(5_000n)));
  assert.equal((await database.run(METER))[0]?.held, 0n);
  assert.deepEqual(
    (await limitsOfPerson(database, acme, { userId: "person:ben", tenantId: "tenant:acme", scope: "tenant" })).map((row) => row.held_usd),
    [0],
  );
});

const AGE = statement("t.age", "update membership.reservation set created_at = created_at - interval '40 days' where call_id = $1");

forEachDatabase("a new limit knows what was spent in its period, and no more", graphModules, async (_t, database) => {
  await graphWorld(database);
  const settled = await reserve(database, wholeGraph, ask(5_000n, { callId: "a" }));
  await settle(database, wholeGraph, settled.reply.reservation_id, { steps: 1, micro: 3_000n, outcome: "ok" });
  const held = await reserve(database, wholeGraph, ask(2_000n, { callId: "b" }));
  await reserve(database, wholeGraph, ask(9_000n, { callId: "long ago" }));
  await database.run(AGE, ["long ago"]);
  const monthly = await put(database, { period: "monthly", limitMicro: 5_000n });
  assert.deepEqual(await stand(database, monthly), [0.003, 0.002]);
  assert.match(await refused(reserve(database, wholeGraph, ask(1n))), /budget_exhausted/);
  await settle(database, wholeGraph, held.reply.reservation_id, { steps: 1, micro: 0n, outcome: "ok" });
  assert.deepEqual(await stand(database, monthly), [0.003, 0], "what was held before the limit is given back to it");
  assert.equal(await put(database, { period: "monthly", limitMicro: 1_000n }), monthly, "the same limit, lowered");
  assert.deepEqual(await stand(database, monthly), [0.003, 0], "spending is never forgotten");
});

forEachDatabase("limits reach people through their groups, and only the agent they name", graphModules, async (_t, database) => {
  await graphWorld(database);
  const team = await put(database, { scope: "team", nodeId: "group:people-ops" });
  const other = await put(database, { scope: "team", nodeId: "group:analysts" });
  const reporter = await put(database, { agentId: "agent:reporter" });
  await reserve(database, wholeGraph, ask(1_000n));
  assert.deepEqual(await stand(database, team), [0, 0.001]);
  assert.deepEqual(await stand(database, other), [0, 0]);
  assert.deepEqual(await stand(database, reporter), [0, 0]);
});

test("facts for a decision tell what the limits leave, so that a refusal has its reason on record", async (t) => {
  const world = await graphWorld(await testDatabase(t, graphModules));
  const left = async () => {
    const asked = { subject_id: "person:ben", agent_ids: ["agent:hr-assistant"], action: "tools/call" };
    const { value } = await world.reader.facts(wholeGraph, [
      { ...asked, resource: { type: "tool", external_id: "people.demo.get_employee" } },
    ]);
    return value[0]?.delegation?.budget_left_micro_usd;
  };
  assert.equal(await left(), 5_000_000);
  await put(world.database, { scope: "tenant", nodeId: "tenant:acme", limitMicro: 3_000n });
  await put(world.database, { scope: "user", nodeId: "person:cleo", limitMicro: 1n });
  await reserve(world.database, wholeGraph, ask(1_000n));
  assert.equal(await left(), 2_000);
  await put(world.database, { scope: "tenant", nodeId: "tenant:acme", limitMicro: 500n });
  assert.equal(await left(), 0, "never below nothing");
});

const END = statement("t.end", "update membership.reservation set ends_at = now() - interval '1 second' where state = 'held'");
const SUMS = statement<{ limit_id: string }>(
  "t.sums",
  `select u.limit_id from membership.budget_use u join membership.budget_limit b on b.id = u.limit_id
   left join lateral (select coalesce(sum(x.micro) filter (where x.state = 'held'), 0) as held, coalesce(sum(x.charged_micro), 0) as used
     from membership.budget_hold h join membership.reservation x on x.id = h.reservation_id
     where h.limit_id = u.limit_id and h.period_start = u.period_start) s on true
   where (u.held_micro, u.used_micro) <> (s.held, s.used) or u.used_micro + u.held_micro > b.limit_micro`,
);

forEachDatabase("under any order of calls at once no limit is overspent and every sum holds", graphModules, async (_t, database) => {
  await graphWorld(database);
  await put(database, { limitMicro: 30_000n });
  await put(database, { scope: "team", nodeId: "group:people-ops", limitMicro: 25_000n, period: "monthly" });
  await put(database, { scope: "tenant", nodeId: "tenant:acme", limitMicro: 28_000n });
  const step = fc.record({
    micro: fc.integer({ min: 0, max: 4_000 }),
    end: fc.constantFrom("settle", "release", "unknown", "lapse", "keep"),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 8, maxLength: 16 }), async (steps) => {
      await Promise.all(
        steps.map(async ({ micro, end }) => {
          const held = await reserve(database, wholeGraph, ask(BigInt(micro))).catch((error: unknown) => {
            assert.ok(error instanceof Problem && ["budget_exhausted", "steps_exhausted"].includes(error.code), String(error));
            return undefined;
          });
          if (held === undefined || end === "keep" || end === "lapse") return;
          const id = held.reply.reservation_id;
          if (end === "release") await release(database, wholeGraph, id);
          else
            await settle(database, wholeGraph, id, { steps: 1, micro: BigInt(micro) / 2n, outcome: end === "settle" ? "ok" : "unknown" });
        }),
      );
      if (steps.some(({ end }) => end === "lapse")) {
        await database.run(END);
        while ((await lapseOne(database)) !== undefined);
      }
      assert.deepEqual(await database.run(SUMS), []);
    }),
    { numRuns: 4 },
  );
});

const BASE = "/api/v1/budget-limits";
const write = { scopes: ["membership.write", "membership.read"] };

test("setting a limit is decided, audited and told; it is in force when it is answered", async (t) => {
  const world = await servedWorld(t, await testDatabase(t, graphModules));
  const body = { scope: "user", node_id: "person:ben", period: "daily", limit_usd: 0.001, reason: "Trial month" };
  const set = await world.call("ada", "PUT", BASE, { ...write, body });
  assert.equal(set.status, 200);
  assert.deepEqual(
    [set.body.scope, set.body.node_id, set.body.agent_id, set.body.limit_usd, set.body.used_usd, set.body.changed_by],
    ["user", "person:ben", null, 0.001, 0, "person:ada"],
  );
  assert.match(set.body.resets_at, /T00:00:00\.000Z$/);
  const reservation = {
    call_id: "c",
    user_id: "person:ben",
    agent_id: "agent:hr-assistant",
    tool_id: "people.demo.get_employee",
    usd: 0.002,
  };
  const held = await world.call("service:crud", "POST", "/api/v1/delegations/reservations", { body: reservation });
  assert.deepEqual([held.status, held.body.code, held.body.limit_id], [409, "budget_exhausted", set.body.limit_id]);
  assert.deepEqual(world.asked.at(-1), { sub: "person:ada", agent: undefined, type: "budgets", action: "edit", id: undefined });
  const entry = world.entries.at(-1);
  assert.deepEqual(
    [entry?.category, entry?.data["op"], entry?.data["limit_usd"], entry?.data["reason"]],
    ["governance", "budget_limit_set", "0.001000", "Trial month"],
  );
  assert.ok((await world.published()).some((event) => event.type === "budget.limit_changed" && event.kind === "budget"));
  assert.deepEqual((await world.call("ada", "GET", BASE, write)).body.items, [set.body]);
  assert.equal((await world.call("eve", "DELETE", `${BASE}/${set.body.limit_id}`, write)).status, 404);
  assert.deepEqual((await world.call("ada", "DELETE", `${BASE}/${set.body.limit_id}`, write)).body, { dropped: true });
  assert.equal((await world.call("ada", "DELETE", `${BASE}/${set.body.limit_id}`, write)).status, 404);
  assert.equal((await world.call("service:crud", "POST", "/api/v1/delegations/reservations", { body: reservation })).status, 201);
});

const good = { scope: "user", node_id: "person:ben", period: "daily", limit_usd: 1 };
const bad: readonly { readonly name: string; readonly body: Record<string, unknown>; readonly status: number }[] = [
  { name: "a scope that is none", body: { ...good, scope: "house" }, status: 422 },
  { name: "no period", body: { ...good, period: undefined }, status: 422 },
  { name: "less than nothing", body: { ...good, limit_usd: -1 }, status: 422 },
  { name: "more than six decimals", body: { ...good, limit_usd: 0.0000001 }, status: 422 },
  { name: "no person", body: { ...good, node_id: undefined }, status: 422 },
  { name: "a group as a person", body: { ...good, node_id: "group:people-ops" }, status: 422 },
  { name: "a person of another tenant", body: { ...good, node_id: "person:eve" }, status: 422 },
  { name: "a person as a team", body: { ...good, scope: "team" }, status: 422 },
  { name: "another tenant", body: { ...good, scope: "tenant", node_id: "tenant:globex" }, status: 422 },
  { name: "an agent that is none", body: { ...good, agent_id: "person:ben" }, status: 422 },
  { name: "a member that is none", body: { ...good, limit: 1 }, status: 422 },
];
test("bad limits are refused, each with its place, and change nothing", async (t) => {
  const world = await servedWorld(t, await testDatabase(t, graphModules));
  for (const row of bad) {
    const reply = await world.call("ada", "PUT", BASE, { ...write, body: row.body });
    assert.equal(reply.status, row.status, row.name);
    assert.ok(reply.body.errors.length > 0, row.name);
  }
  assert.deepEqual((await world.call("ada", "GET", BASE, write)).body.items, []);
});

test("who may not edit budgets changes none", async (t) => {
  const world = await servedWorld(t, await testDatabase(t, graphModules), { rule: () => false });
  assert.equal((await world.call("ben", "PUT", BASE, { ...write, body: good })).status, 403);
  assert.equal((await world.call("ben", "GET", BASE, write)).status, 403);
});
