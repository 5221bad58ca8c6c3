import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { rm } from "node:fs/promises";
import { test } from "node:test";
import { createPglite } from "#store/pglite.ts";
import { statement } from "#store/database.ts";
import { silentLog } from "#telemetry/log.ts";
import { makeDataFolder, startTestInstance, type TestInstance } from "./test-instance.ts";
import { fetchToken } from "./tokens.ts";

interface ActRow {
  readonly act_id: string;
  readonly correlation_id: string;
  readonly phases: readonly string[];
  readonly outcomes: readonly string[];
}
interface ReservationRow {
  readonly call_id: string;
  readonly state: string;
  readonly outcome: string | null;
  readonly charged_micro: bigint | null;
  readonly charged_steps: bigint | null;
}
interface MeterRow {
  readonly used_micro: bigint;
  readonly held_micro: bigint;
  readonly used_steps: bigint;
  readonly held_steps: bigint;
}

const acts = statement<ActRow>(
  "test.acts",
  `select act_id, min(correlation_id) as correlation_id, array_agg(phase order by seq) as phases, array_agg(outcome order by seq) as outcomes
     from events.audit_entry where category = 'tool_call' and phase <> 'single' group by act_id`,
);
const reservations = statement<ReservationRow>(
  "test.reservations",
  "select call_id, state, outcome, charged_micro, charged_steps::bigint as charged_steps from membership.reservation where delegation_id = $1",
);
const meters = statement<MeterRow>(
  "test.meters",
  "select used_micro, held_micro, used_steps::bigint, held_steps::bigint from membership.meter where delegation_id = $1",
);

const CALLS = 200;
const KILL_AFTER = 60;
const PRICE_MICRO = 2000n;

test("a SIGKILL in the middle of 200 tool calls loses nothing that was acknowledged and charges nothing twice", async () => {
  const data = await makeDataFolder();
  const instances: TestInstance[] = [];
  const start = async (): Promise<TestInstance> => {
    const started = await startTestInstance({ data });
    instances.push(started);
    return started;
  };
  try {
    const instance = await start();
    const ben = await fetchToken(instance.port, { user: "ben" });
    const created = await fetch(`http://localhost:${instance.port + 4}/api/v1/delegations`, {
      method: "POST",
      headers: { authorization: `Bearer ${ben}`, "content-type": "application/json", "idempotency-key": randomUUID() },
      body: JSON.stringify({
        agent_id: "agent:hr-assistant",
        capabilities: ["people.demo.list_employees"],
        budget_usd: 10,
        max_steps: 1000,
        // Sooner than the demo delegation ends, so that calls are charged here.
        expires_at: new Date(Date.now() + 3_600_000).toISOString(),
        purpose: "Killed on purpose",
      }),
    });
    assert.equal(created.status, 201);
    const { delegation_id: delegation } = (await created.json()) as { delegation_id: string };
    const agent = await fetchToken(instance.port, { user: "ben", agent: "agent:hr-assistant" });

    const succeeded = new Set<string>();
    let failed = 0;
    const call = async (): Promise<void> => {
      const correlationId = randomUUID();
      const response = await fetch(`${instance.origin}/api/crud/mcp/jsonrpc`, {
        method: "POST",
        headers: { authorization: `Bearer ${agent}`, "content-type": "application/json", "x-correlation-id": correlationId },
        body: JSON.stringify({
          jsonrpc: "2.0",
          id: "1",
          method: "tools/call",
          params: { name: "people.demo.list_employees", arguments: { limit: 2 } },
        }),
      });
      const body = (await response.json()) as { result?: unknown };
      assert.ok(body.result !== undefined, JSON.stringify(body));
      succeeded.add(correlationId);
      // In the middle: some have answered, others are under way.
      if (succeeded.size === KILL_AFTER) void instance.kill();
    };
    const lane = async (count: number): Promise<void> => {
      for (let index = 0; index < count; index++) {
        await call().catch((error: unknown) => {
          if (error instanceof assert.AssertionError) throw error;
          failed++;
        });
      }
    };
    await Promise.all(Array.from({ length: 20 }, () => lane(CALLS / 20)));
    assert.ok(succeeded.size >= KILL_AFTER && failed > 0, `${succeeded.size} answered, ${failed} were cut off`);

    // The next start settles what was left open, and says so.
    const again = await start();
    assert.equal(await again.stop(), 0);

    const database = await createPglite({ dataFolder: data, log: silentLog });
    try {
      const calls = await database.run(acts);
      const held = new Map((await database.run(reservations, [delegation])).map((row) => [row.call_id, row]));
      for (const correlationId of succeeded) {
        const mine = calls.filter((row) => row.correlation_id === correlationId);
        assert.equal(mine.length, 1, correlationId);
        assert.deepEqual(mine[0]?.phases, ["open", "close"]);
        assert.equal(mine[0]?.outcomes[1], "ok");
        const reservation = held.get(mine[0]?.act_id ?? "");
        assert.equal(reservation?.outcome, "ok");
        assert.equal(reservation?.charged_micro, PRICE_MICRO);
        assert.equal(reservation?.charged_steps, 1n);
      }
      for (const row of calls) assert.deepEqual(row.phases, ["open", "close"], "every open entry is closed");
      const unknown = calls.filter((row) => row.outcomes[1] === "unknown");
      if (unknown.length > 0) assert.match(again.output(), /act_unknown/);
      for (const row of held.values()) {
        assert.notEqual(row.state, "held");
        // What was held and never begun is given back; what was begun is charged, once.
        if (row.state === "released") assert.ok(!calls.some((call) => call.act_id === row.call_id));
      }
      const [meter] = await database.run(meters, [delegation]);
      const charged = [...held.values()].reduce((sum, row) => sum + (row.charged_micro ?? 0n), 0n);
      const steps = [...held.values()].reduce((sum, row) => sum + (row.charged_steps ?? 0n), 0n);
      assert.deepEqual(
        { used: meter?.used_micro, held: meter?.held_micro, steps: meter?.used_steps, heldSteps: meter?.held_steps },
        { used: charged, held: 0n, steps, heldSteps: 0n },
      );
    } finally {
      await database[Symbol.asyncDispose]();
    }
  } finally {
    // Also when it failed before it came to kill anything.
    for (const instance of instances) await instance.kill();
    await rm(data, { recursive: true, force: true });
  }
});
