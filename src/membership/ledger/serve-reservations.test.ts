import assert from "node:assert/strict";
import { test } from "node:test";
import { testDatabase } from "#testing/database.ts";
import { graphModules, servedWorld } from "#testing/membership.ts";

const BASE = "/api/v1/delegations/reservations";
const ask = (more: Record<string, unknown> = {}): Record<string, unknown> => ({
  call_id: crypto.randomUUID(),
  user_id: "person:ben",
  agent_id: "agent:hr-assistant",
  tool_id: "people.demo.list_employees",
  usd: 0.002,
  ...more,
});

test("a pipeline's way: reserve, find again, settle, and see what was spent", async (t) => {
  const world = await servedWorld(t, await testDatabase(t, graphModules));
  const call = (method: string, path: string, body?: unknown) =>
    world.call("service:crud", method, path, body === undefined ? {} : { body });
  const held = await call("POST", BASE, ask({ call_id: "c-1" }));
  assert.equal(held.status, 201);
  assert.deepEqual([held.body.delegation_id, held.body.steps_left, held.body.budget_left_usd], ["delegation:ben-hr", 49, 4.998]);
  assert.ok(Math.abs(Date.parse(held.body.ends_at) - Date.now() - 120_000) < 10_000);
  const found = await call("GET", `${BASE}?call_id=c-1`);
  assert.deepEqual(
    [found.body.reservation_id, found.body.state, found.body.delegation_id],
    [held.body.reservation_id, "held", "delegation:ben-hr"],
  );
  assert.equal((await call("GET", `${BASE}?call_id=c-2`)).body, null);
  const longer = await call("POST", `${BASE}/${held.body.reservation_id}/extend`, { ttl_s: 600 });
  assert.ok(longer.body.ends_at > held.body.ends_at);
  const settled = await call("POST", `${BASE}/${held.body.reservation_id}/settle`, { usd: 0.001, steps: 1, outcome: "ok" });
  assert.deepEqual(settled.body, { charged_usd: 0.001, charged_steps: 1, excess_usd: 0, steps_left: 49, budget_left_usd: 4.999 });
  const other = await call("POST", BASE, ask());
  assert.deepEqual((await call("POST", `${BASE}/${other.body.reservation_id}/release`)).body, { released: true });
  const spend = await call("GET", "/api/v1/delegations/spend?user_id=person:ben");
  assert.deepEqual(spend.body, {
    settled_usd: 0.001,
    held_usd: 0,
    steps: 1,
    by_delegation: [{ delegation_id: "delegation:ben-hr", settled_usd: 0.001, held_usd: 0, steps: 1 }],
  });
  const usage = await world.call("ben", "GET", "/api/v1/delegations/delegation:ben-hr/usage");
  assert.deepEqual(usage.body.by_tool, [{ tool_id: "people.demo.list_employees", calls: 1, steps: 1, usd: 0.001 }]);
  assert.deepEqual(
    usage.body.series.map((point: { steps: number; usd: number }) => [point.steps, point.usd]),
    [[1, 0.001]],
  );
  assert.deepEqual(usage.body.open, []);
  assert.deepEqual(
    world.asked.map(({ action }) => action),
    ["view"],
    "the pipeline has decided; only the page asks",
  );
});

test("refusals are 409 with what is left, and carry their code", async (t) => {
  const world = await servedWorld(t, await testDatabase(t, graphModules));
  const refused = async (more: Record<string, unknown>) => {
    const { status, body } = await world.call("service:crud", "POST", BASE, { body: ask(more) });
    return [status, body.code, body.steps_left, body.budget_left_usd];
  };
  assert.deepEqual(await refused({ agent_id: "agent:reporter" }), [409, "delegation_inactive", 10, 1]);
  assert.deepEqual(await refused({ user_id: "person:dan" }), [409, "delegation_inactive", undefined, undefined]);
  assert.deepEqual(await refused({ tool_id: "memory.demo.read_graph" }), [409, "capability_missing", 50, 5]);
  assert.deepEqual(await refused({ steps: 51 }), [409, "steps_exhausted", 50, 5]);
  assert.deepEqual(await refused({ usd: 5.000001 }), [409, "budget_exhausted", 50, 5]);
  const text = await world.metrics.text();
  assert.match(text, /membership_reservations_total\{result="budget_exhausted"\} 1/);
});

test("what is not well formed is refused before the ledger is touched", async (t) => {
  const world = await servedWorld(t, await testDatabase(t, graphModules));
  const bad: readonly (readonly [path: string, body: unknown, status: number])[] = [
    [BASE, ask({ usd: -1 }), 422],
    [BASE, ask({ usd: 0.0000001 }), 422],
    [BASE, ask({ usd: "1" }), 422],
    [BASE, ask({ usd: 10_001 }), 422],
    [BASE, ask({ steps: 0 }), 422],
    [BASE, ask({ steps: 1.5 }), 422],
    [BASE, ask({ ttl_s: 4 }), 422],
    [BASE, ask({ ttl_s: 3601 }), 422],
    [BASE, ask({ call_id: "" }), 422],
    [BASE, ask({ call_id: "a\u0000" }), 422],
    [BASE, ask({ user_id: "per son" }), 422],
    [BASE, ask({ budget: 1 }), 422],
    [BASE, undefined, 422],
    [BASE, "{", 400],
    [BASE, '{"usd":1,"usd":2}', 400],
    [`${BASE}/not-a-uuid/settle`, { usd: 0, steps: 1, outcome: "ok" }, 404],
    [`${BASE}/00000000-0000-4000-8000-000000000000/settle`, { usd: 0, steps: 1, outcome: "ok" }, 404],
    [`${BASE}/00000000-0000-4000-8000-000000000000/settle`, { usd: 0, steps: 1, outcome: "maybe" }, 422],
    [`${BASE}/00000000-0000-4000-8000-000000000000/settle`, { usd: 0, steps: -1, outcome: "ok" }, 422],
    [`${BASE}/00000000-0000-4000-8000-000000000000/extend`, { ttl_s: 1 }, 422],
  ];
  for (const [path, body, status] of bad) {
    const reply = await world.call("service:crud", "POST", path, body === undefined ? {} : { body });
    assert.deepEqual([path, body, reply.status], [path, body, status]);
  }
  assert.deepEqual(await world.sql("select * from membership.reservation"), []);
});
