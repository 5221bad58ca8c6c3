import assert from "node:assert/strict";
import { randomInt, randomUUID } from "node:crypto";
import { test } from "node:test";
import { statement } from "#store/database.ts";
import { cleanUp } from "#testing/clean-up.ts";
import { findFreePorts } from "#testing/free-port.ts";
import { openPostgres, testServer } from "#testing/postgres-database.ts";
import { until } from "#testing/until.ts";
import { requirePostgresGround } from "./postgres-ground.ts";
import { startTestInstance, type TestInstance } from "./test-instance.ts";
import { fetchToken } from "./tokens.ts";

interface CallRow {
  readonly correlation_id: string;
  readonly opens: bigint;
  readonly closes: readonly string[];
  readonly state: string | null;
  readonly outcome: string | null;
  readonly charged_micro: bigint | null;
}
const CALLS_MADE = statement<CallRow>(
  "test.calls_made",
  `select min(a.correlation_id) as correlation_id, count(*) filter (where a.phase = 'open') as opens,
     array_remove(array_agg(case when a.phase = 'close' then a.outcome end), null) as closes, min(r.state) as state, min(r.outcome) as outcome,
     min(r.charged_micro) as charged_micro
   from events.audit_entry a left join membership.reservation r on r.call_id = a.act_id
   where a.category = 'tool_call' and a.phase <> 'single' and a.correlation_id = any($1) group by a.act_id`,
);
interface SumRow {
  readonly limit_micro: bigint;
  readonly used_micro: bigint;
  readonly held_micro: bigint;
  readonly used_steps: bigint;
  readonly charged: bigint;
  readonly steps: bigint;
  readonly held: bigint;
}
const SUMS = statement<SumRow>(
  "test.sums",
  `select m.limit_micro, m.used_micro, m.held_micro, m.used_steps, x.* from membership.meter m, lateral (
     select coalesce(sum(r.charged_micro), 0)::bigint as charged, coalesce(sum(r.charged_steps), 0)::bigint as steps, count(*) filter (where r.state = 'held') as held
     from membership.reservation r where r.delegation_id = m.delegation_id) x where m.delegation_id = $1`,
);
const TIME_PASSES = statement(
  "test.time_passes",
  "update membership.reservation set ends_at = now() where state = 'held' and delegation_id = $1",
);

const CALLERS = 64;
const PRICE_MICRO = 2000n;
/** After how many more calls a replica is killed, at most: at another moment in each run. */
const MARK = 120;
/** Fewer than the callers would make, so that they fight for the last ones; enough that the second replica is killed while there is still something to spend. */
const STEPS = 400;
const server = testServer();

test("64 callers on two replicas, each killed in the middle: never over-spent, nothing acknowledged is lost, all is settled after recovery", async (t) => {
  const ground = await requirePostgresGround(t, server);
  if (ground === undefined) return;
  const ports = [await findFreePorts(), await findFreePorts()] as const;
  const start = async (at: 0 | 1): Promise<TestInstance> => {
    const instance = await startTestInstance({ port: ports[at], environment: { ...ground.environment, DELEGATION_SWEEP_MS: "500" } });
    cleanUp(t, async () => {
      await instance.kill();
      await instance.stop();
    });
    return instance;
  };
  const first = await start(0);
  const instances: [TestInstance | undefined, TestInstance | undefined] = [first, await start(1)];
  const ben = await fetchToken(first.port, { user: "ben" });
  const made = await fetch(`http://localhost:${first.port + 4}/api/v1/delegations`, {
    method: "POST",
    headers: { authorization: `Bearer ${ben}`, "content-type": "application/json", "idempotency-key": randomUUID() },
    body: JSON.stringify({
      agent_id: "agent:hr-assistant",
      capabilities: ["people.demo.list_employees"],
      budget_usd: Number(PRICE_MICRO * BigInt(STEPS)) / 1_000_000,
      max_steps: 10_000,
      // Sooner than the demo's own, so that calls are charged here.
      expires_at: new Date(Date.now() + 3_600_000).toISOString(),
      purpose: "Killed on purpose",
    }),
  });
  assert.equal(made.status, 201);
  // Alone: no other of his pays in its place.
  const ended = await fetch(`http://localhost:${first.port + 4}/api/v1/delegations/delegation:ben-hr/revoke`, {
    method: "POST",
    headers: { authorization: `Bearer ${ben}`, "content-type": "application/json" },
    body: JSON.stringify({ reason: "Another one takes its place" }),
  });
  assert.equal(ended.status, 200);
  const { delegation_id: delegation } = (await made.json()) as { delegation_id: string };
  const database = await openPostgres(ground.databaseUrl);
  cleanUp(t, () => database[Symbol.asyncDispose]());
  const tokens = await Promise.all(ports.map((port) => fetchToken(port, { user: "ben", agent: "agent:hr-assistant" })));

  const succeeded = new Set<string>();
  const asked = new Set<string>();
  const refusals = new Map<string, number>();
  let lost = 0;
  let isOver = false;
  cleanUp(t, () => void (isOver = true));
  const call = async (at: 0 | 1): Promise<void> => {
    const correlationId = randomUUID();
    asked.add(correlationId);
    const response = await fetch(`http://localhost:${ports[at]}/api/crud/mcp/jsonrpc`, {
      method: "POST",
      headers: { authorization: `Bearer ${tokens[at]}`, "content-type": "application/json", "x-correlation-id": correlationId },
      body: JSON.stringify({
        jsonrpc: "2.0",
        id: "1",
        method: "tools/call",
        params: { name: "people.demo.list_employees", arguments: { limit: 2 } },
      }),
    });
    const body = (await response.json()) as { result?: unknown; error?: { data?: { code?: string } }; code?: string };
    if (body.result !== undefined) succeeded.add(correlationId);
    else {
      const code = body.error?.data?.code ?? body.code ?? JSON.stringify(body);
      refusals.set(code, (refusals.get(code) ?? 0) + 1);
    }
  };
  const caller = async (n: number): Promise<void> => {
    for (let turn = n; !isOver; turn++) {
      const at = (turn % 2) as 0 | 1;
      if (instances[at] === undefined) await new Promise((resolve) => setTimeout(resolve, 20));
      else await call(at).catch(() => lost++);
      // Whoever is refused or cut off does not hammer.
      if (lost + refusals.size > 0) await new Promise((resolve) => setTimeout(resolve, 50));
    }
  };
  const callers = Promise.all(Array.from({ length: CALLERS }, (_none, n) => caller(n)));
  const patience = 240_000;
  // One after the other in the middle of its calls; the other serves on, and the killed one comes back to it.
  for (const at of [0, 1] as const) {
    const mark = asked.size + randomInt(1, MARK + 1);
    await until(
      () => asked.size,
      (count) => count >= mark,
      patience,
    );
    t.diagnostic(`replica ${at} is killed after ${asked.size} calls, ${succeeded.size} of them answered`);
    const instance = instances[at];
    instances[at] = undefined;
    await instance?.kill();
    instances[at] = await start(at);
  }
  await until(
    () => refusals.get("budget_exhausted") ?? 0,
    (count) => count >= CALLERS,
    patience,
  );
  isOver = true;
  await callers;
  assert.ok(lost > 0, "some were cut off");

  // What was held and had not begun when its process died is charged by the clock; what had begun, by the next start.
  await database.run(TIME_PASSES, [delegation]);
  const sums = async (): Promise<SumRow> => {
    const [row] = await database.run(SUMS, [delegation]);
    assert.ok(row);
    return row;
  };
  const after = await until(sums, ({ held }) => held === 0n, patience);
  assert.deepEqual([after.used_micro, after.held_micro, after.used_steps], [after.charged, 0n, after.steps]);
  assert.ok(after.used_micro <= after.limit_micro);
  const rows = await until(
    () => database.run(CALLS_MADE, [[...asked]]),
    (all) => all.every(({ closes }) => closes.length > 0),
    patience,
  );
  const byCall = Map.groupBy(rows, ({ correlation_id }) => correlation_id);
  for (const id of succeeded) {
    const [row, twice] = byCall.get(id) ?? [];
    assert.deepEqual(
      [twice, row?.opens, row?.closes, row?.state, row?.outcome, row?.charged_micro],
      [undefined, 1n, ["ok"], "settled", "ok", PRICE_MICRO],
      id,
    );
  }
  for (const row of rows) assert.deepEqual([row.opens, row.closes.length], [1n, 1], "every act that was opened is closed once");
  assert.ok(succeeded.size <= STEPS);
});
