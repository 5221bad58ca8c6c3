import assert from "node:assert/strict";
import { test } from "node:test";
import { testDatabase } from "#testing/database.ts";
import { testIdentity } from "#testing/identity.ts";
import { graphModules, servedWorld } from "#testing/membership.ts";
import { pdpWorld } from "#testing/pdp.ts";

const RESERVATIONS = "/api/v1/delegations/reservations";

const worlds = async (t: Parameters<typeof pdpWorld>[0]) => {
  const identity = testIdentity();
  const membership = await servedWorld(t, await testDatabase(t, graphModules), { identity });
  const pdp = await pdpWorld(t, { identity, parts: { peers: { membership: (request) => membership.service.fetch(request) } } });
  const effective = async (login: string, query = "", agent?: string) => {
    const token = await pdp.personToken(login, agent === undefined ? {} : { agent });
    const response = await pdp.ask(`/access/v1/budgets/effective${query}`, token);
    // Tests look into bodies of many shapes.
    // oxlint-disable-next-line typescript/no-explicit-any
    const body: any = await response.json();
    return { status: response.status, body };
  };
  const spend = async (usd: number) => {
    const held = await membership.call("service:crud", "POST", RESERVATIONS, {
      body: {
        call_id: crypto.randomUUID(),
        user_id: "person:ben",
        agent_id: "agent:hr-assistant",
        tool_id: "people.demo.get_employee",
        usd,
      },
    });
    return held.body.reservation_id as string;
  };
  const limit = (body: Record<string, unknown>) =>
    membership.call("ada", "PUT", "/api/v1/budget-limits", { scopes: ["membership.write"], body });
  return { membership, pdp, effective, spend, limit };
};

test("a priced call moves the person's row by exactly its price", async (t) => {
  const { effective, spend, membership } = await worlds(t);
  const [before] = (await effective("ben")).body.snapshot;
  assert.deepEqual(before, {
    scope: "user",
    period: "delegation",
    selector: { category: "delegation", provider: "agent:hr-assistant", model: null },
    limit_usd: 5,
    consumed_usd: 0,
    reserved_usd: 0,
    remaining_policy_usd: 5,
    decision: "allow",
    reason: "within_budget",
    delegation_id: "delegation:ben-hr",
    max_steps: 50,
    steps_used: 0,
  });
  const id = await spend(0.002);
  const [held] = (await effective("ben")).body.snapshot;
  assert.deepEqual([held.consumed_usd, held.reserved_usd, held.remaining_policy_usd], [0, 0.002, 4.998]);
  await membership.call("service:crud", "POST", `${RESERVATIONS}/${id}/settle`, { body: { usd: 0.002, steps: 1, outcome: "ok" } });
  const [after] = (await effective("ben")).body.snapshot;
  assert.deepEqual([after.consumed_usd, after.reserved_usd, after.remaining_policy_usd, after.steps_used], [0.002, 0, 4.998, 1]);
});

test("a row stands where a limit exists, and says why it allows no more", async (t) => {
  const { effective, spend, limit, membership } = await worlds(t);
  assert.deepEqual((await effective("ben", "?period=daily")).body, { snapshot: [] });
  await limit({ scope: "user", node_id: "person:ben", period: "monthly", limit_usd: 1 });
  await limit({ scope: "user", node_id: "person:ben", period: "daily", limit_usd: 0.002 });
  await limit({ scope: "user", node_id: "person:cleo", period: "daily", limit_usd: 1 });
  await spend(0.002);
  await membership.call("ben", "POST", "/api/v1/delegations/delegation:ben-hr/pause", { body: { reason: "A short stop" } });
  const { snapshot } = (await effective("ben")).body;
  assert.deepEqual(
    snapshot.map((row: Record<string, unknown>) => [row["period"], row["remaining_policy_usd"], row["decision"], row["reason"]]),
    [
      ["daily", 0, "deny", "budget_exhausted"],
      ["monthly", 0.998, "allow", "within_budget"],
      ["delegation", 4.998, "deny", "paused"],
    ],
  );
  assert.match(snapshot[1].resets_at, /-01T00:00:00\.000Z$/);
});

test("a team's and a tenant's budgets need their pairs; the refusal names its decision", async (t) => {
  const { effective, limit, pdp } = await worlds(t);
  await limit({ scope: "team", node_id: "group:people-ops", period: "daily", limit_usd: 3 });
  await limit({ scope: "tenant", period: "daily", limit_usd: 9 });
  const limits = async (login: string, query: string) =>
    (await effective(login, query)).body.snapshot.map((row: Record<string, unknown>) => [row["scope"], row["node_id"], row["limit_usd"]]);
  assert.deepEqual(await limits("ben", "?scope=team"), [["team", "group:people-ops", 3]]);
  assert.deepEqual(await limits("ada", "?scope=team"), [], "a team that she is not in");
  assert.deepEqual(await limits("ada", "?scope=tenant"), [["tenant", "tenant:acme", 9]]);
  for (const [login, query, agent] of [
    ["cleo", "?scope=team"],
    ["ben", "?scope=tenant"],
    ["ben", "?scope=team", "agent:hr-assistant"],
  ] as const) {
    const reply = await effective(login, query, agent);
    assert.deepEqual([reply.status, reply.body.code], [403, "access_denied"]);
    const record = await pdp.ask(`/access/v1/decisions/${reply.body.decision_id}`, await pdp.personToken("ada"));
    assert.equal(record.status, 200);
  }
  assert.equal((await effective("ben", "?scope=house")).status, 400);
});

test("without the ledger there is no answer, never an empty one", async (t) => {
  const pdp = await pdpWorld(t);
  const response = await pdp.ask("/access/v1/budgets/effective", await pdp.personToken("ben"));
  assert.equal(response.status, 503);
  assert.equal(response.headers.get("retry-after"), "5");
  assert.equal(((await response.json()) as { code: string }).code, "budget_unavailable");
});
