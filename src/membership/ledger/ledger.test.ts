import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import fc from "fast-check";
import { Problem } from "#contract/problem.ts";
import { statement, type Database } from "#store/database.ts";
import { forEachDatabase, testDatabase } from "#testing/database.ts";
import { graphModules, graphWorld, servedWorld } from "#testing/membership.ts";
import { wholeGraph, scopeOfTenant } from "#membership/graph/tenant-scope.ts";
import { silentLog } from "#telemetry/log.ts";
import { releaseAbandoned } from "./abandoned.ts";
import { checkLedger } from "./check-ledger.ts";
import { extend, lapseOne, release, settle } from "./close-reservation.ts";
import { findByCall, readSpend, readUsage } from "#membership/delegations/read-ledger.ts";
import { reserve, type ReserveAsk } from "./reserve.ts";

const [LIST, GET] = ["people.demo.list_employees", "people.demo.get_employee"];
const ask = (more: Partial<ReserveAsk> = {}): ReserveAsk => ({
  callId: crypto.randomUUID(),
  userId: "person:ben",
  agentId: "agent:hr-assistant",
  toolId: GET,
  steps: 1,
  micro: 2_000n,
  ttlSeconds: 120,
  ...more,
});
const codeOf = (error: unknown): string => (error instanceof Problem ? `${error.status} ${error.code}` : String(error));
const refused = async (work: Promise<unknown>): Promise<string> => work.then(() => "done", codeOf);

const METER = statement<{ used: bigint; held: bigint; used_steps: bigint; held_steps: bigint }>(
  "testing.meter",
  "select used_micro as used, held_micro as held, used_steps, held_steps from membership.meter where delegation_id = $1",
);
const meter = async (database: Database, id = "delegation:ben-hr") => {
  const [row] = await database.run(METER, [id]);
  assert.ok(row);
  return { used: Number(row.used), held: Number(row.held), usedSteps: Number(row.used_steps), heldSteps: Number(row.held_steps) };
};
const WRONG = statement<{ id: string }>("testing.wrong", "select delegation_id as id from membership.meter where is_wrong");
/** Meters hold exactly what their reservations and those below them say: by the check that Sallyport makes. */
const sumsHold = async (database: Database): Promise<void> => {
  await checkLedger({ database, log: silentLog });
  assert.deepEqual(await database.run(WRONG), []);
};

forEachDatabase("a reservation holds, a settlement charges what was used, and both are replayed", graphModules, async (_t, database) => {
  await graphWorld(database);
  const first = ask({ callId: "call-1", micro: 500_000n });
  const held = await reserve(database, wholeGraph, first);
  assert.equal(held.isNew, true);
  assert.equal(held.reply.delegation_id, "delegation:ben-hr");
  assert.equal(held.reply.steps_left, 49);
  assert.equal(held.reply.budget_left_usd, 4.5);
  assert.deepEqual(await meter(database), { used: 0, held: 500_000, usedSteps: 0, heldSteps: 1 });

  await reserve(database, wholeGraph, ask({ callId: "call-2" }));
  assert.deepEqual(
    await reserve(database, wholeGraph, first),
    { reply: held.reply, isNew: false },
    "the first answer again, to the letter",
  );
  assert.deepEqual(await reserve(database, wholeGraph, { ...first, delegationId: "delegation:ben-hr" }), {
    reply: held.reply,
    isNew: false,
  });
  for (const other of [{ micro: 1n }, { steps: 2 }, { toolId: "people.demo.list_employees" }, { agentId: "agent:reporter" }])
    assert.equal(await refused(reserve(database, wholeGraph, { ...first, ...other })), "409 idempotency_conflict");

  const id = held.reply.reservation_id;
  const settled = await settle(database, wholeGraph, id, { steps: 1, micro: 120_000n, outcome: "ok" });
  assert.deepEqual(settled, {
    delegationId: "delegation:ben-hr",
    charged_steps: 1,
    charged_usd: 0.12,
    excess_usd: 0,
    steps_left: 48,
    budget_left_usd: 4.878,
  });
  assert.deepEqual(await settle(database, wholeGraph, id, { steps: 1, micro: 120_000n, outcome: "ok" }), settled);
  assert.equal(await refused(settle(database, wholeGraph, id, { steps: 1, micro: 1n, outcome: "ok" })), "409 reservation_closed");
  assert.equal(await refused(settle(database, wholeGraph, id, { steps: 1, micro: 120_000n, outcome: "failed" })), "409 reservation_closed");
  assert.equal(await refused(release(database, wholeGraph, id)), "409 reservation_closed");
  assert.equal(await refused(extend(database, wholeGraph, id, 60)), "409 reservation_closed");
  const later = (await reserve(database, wholeGraph, first)).reply;
  assert.deepEqual(later, { ...held.reply, state: "settled" }, "a closed call still gets its first answer, and what became of it");
  await sumsHold(database);
});

forEachDatabase(
  "more than was held is recorded and not charged; unknown charges all; release charges nothing",
  graphModules,
  async (_t, database) => {
    await graphWorld(database);
    const one = (await reserve(database, wholeGraph, ask({ micro: 1000n }))).reply.reservation_id;
    const over = await settle(database, wholeGraph, one, { steps: 9, micro: 1750n, outcome: "failed" });
    assert.deepEqual([over.charged_usd, over.excess_usd, over.charged_steps], [0.001, 0.00075, 1]);
    const two = (await reserve(database, wholeGraph, ask({ micro: 1000n }))).reply.reservation_id;
    const unknown = await settle(database, wholeGraph, two, { steps: 0, micro: 0n, outcome: "unknown" });
    assert.deepEqual([unknown.charged_usd, unknown.charged_steps], [0.001, 1]);
    assert.equal((await settle(database, wholeGraph, two, { steps: 1, micro: 5n, outcome: "unknown" })).charged_usd, 0.001);
    const three = (await reserve(database, wholeGraph, ask())).reply.reservation_id;
    assert.equal(await release(database, wholeGraph, three), "delegation:ben-hr");
    assert.equal(await release(database, wholeGraph, three), undefined);
    assert.equal(await refused(settle(database, wholeGraph, three, { steps: 1, micro: 0n, outcome: "ok" })), "409 reservation_closed");
    assert.deepEqual(await meter(database), { used: 2000, held: 0, usedSteps: 2, heldSteps: 0 });
    await sumsHold(database);
  },
);

forEachDatabase(
  "what lapses is charged whole as unknown, and one late settlement corrects it downwards within a day",
  graphModules,
  async (_t, database) => {
    const world = await graphWorld(database);
    const held = await reserve(database, wholeGraph, ask({ micro: 4000n, callId: "late" }));
    assert.equal(await lapseOne(database), undefined, "nothing lapses before its end");
    const ends = await extend(database, wholeGraph, held.reply.reservation_id, 3600);
    assert.ok(ends > held.reply.ends_at);
    assert.equal(await extend(database, wholeGraph, held.reply.reservation_id, 5), ends, "extending never shortens");
    await world.sql("update membership.reservation set ends_at = now() - interval '1 second'");
    assert.deepEqual(await lapseOne(database), { delegationId: "delegation:ben-hr", callId: "late" });
    assert.equal(await lapseOne(database), undefined);
    assert.deepEqual(await meter(database), { used: 4000, held: 0, usedSteps: 1, heldSteps: 0 });
    const id = held.reply.reservation_id;
    assert.equal(
      (await settle(database, wholeGraph, id, { steps: 1, micro: 0n, outcome: "unknown" })).charged_usd,
      0.004,
      "unknown is what it is already",
    );
    assert.equal((await settle(database, wholeGraph, id, { steps: 1, micro: 1000n, outcome: "ok" })).charged_usd, 0.001);
    assert.deepEqual(await meter(database), { used: 1000, held: 0, usedSteps: 1, heldSteps: 0 });
    assert.equal(
      await refused(settle(database, wholeGraph, id, { steps: 1, micro: 500n, outcome: "ok" })),
      "409 reservation_closed",
      "once",
    );
    assert.deepEqual(await world.sql("select late from membership.reservation"), [{ late: true }]);

    const old = await reserve(database, wholeGraph, ask({ micro: 4000n }));
    await world.sql("update membership.reservation set ends_at = now() - interval '2 days' where state = 'held'");
    await lapseOne(database);
    await world.sql("update membership.reservation set closed_at = now() - interval '25 hours' where state = 'lapsed'");
    assert.equal(
      await refused(settle(database, wholeGraph, old.reply.reservation_id, { steps: 1, micro: 0n, outcome: "ok" })),
      "409 reservation_closed",
    );
    await sumsHold(database);
  },
);

const breaks: readonly (readonly [name: string, sql: string, more: Partial<ReserveAsk>, expected: string])[] = [
  [
    "the delegation is revoked",
    "update membership.delegation set status = 'revoked', ended_at = now() where id = 'delegation:ben-hr'",
    {},
    "409 delegation_inactive",
  ],
  [
    "the delegation is paused",
    "update membership.delegation set status = 'paused', hold = 'manual' where id = 'delegation:ben-hr'",
    {},
    "409 delegation_inactive",
  ],
  [
    "its end is past, though nobody swept",
    "update membership.delegation set expires_at = now() where id = 'delegation:ben-hr'",
    {},
    "409 delegation_inactive",
  ],
  [
    "it has not begun",
    "update membership.delegation set valid_from = now() + interval '1 hour' where id = 'delegation:ben-hr'",
    {},
    "409 delegation_inactive",
  ],
  [
    "the agent is suspended",
    "update membership.node set state = 'suspended' where id = 'agent:hr-assistant'",
    {},
    "409 delegation_inactive",
  ],
  ["the person is disabled", "update membership.node set state = 'disabled' where id = 'person:ben'", {}, "409 delegation_inactive"],
  ["the pair has none", "select 1", { agentId: "agent:nobody" }, "409 delegation_inactive"],
  ["another's is named", "select 1", { delegationId: "delegation:cleo-rep" }, "409 delegation_inactive"],
  ["the delegation does not name the tool", "select 1", { toolId: "sallyport.local.search_identities" }, "409 capability_missing"],
  [
    "the agent lost the capability",
    `delete from membership.edge where kind = 'HAS_CAPABILITY' and dst = '${GET}'`,
    {},
    "409 capability_missing",
  ],
  [
    "the capability ended",
    `update membership.edge set expires_at = now() where kind = 'HAS_CAPABILITY' and dst = '${GET}'`,
    {},
    "409 capability_missing",
  ],
  ["the tool is in quarantine", `update membership.node set state = 'quarantined' where id = '${GET}'`, {}, "409 capability_missing"],
  [
    "the definition drifted from the approved one",
    `with t as (update membership.node set digest = 'b' where id = '${GET}') update membership.edge set digest = 'a' where kind = 'HAS_CAPABILITY' and dst = '${GET}'`,
    {},
    "409 capability_missing",
  ],
  ["the steps are used up", "update membership.meter set used_steps = limit_steps", {}, "409 steps_exhausted"],
  ["the money is used up", "update membership.meter set used_micro = limit_micro - 1999", {}, "409 budget_exhausted"],
  ["more steps are asked than are left", "select 1", { steps: 51 }, "409 steps_exhausted"],
  ["more money is asked than is left", "select 1", { micro: 5_000_001n }, "409 budget_exhausted"],
];
forEachDatabase("a reserve is refused with its reason, and holds nothing", graphModules, async (_t, database) => {
  const world = await graphWorld(database);
  for (const [index, [name, sql, more, expected]] of breaks.entries()) {
    const trial = async (): Promise<void> => {
      await database.transaction(async (inside) => {
        await inside.run(statement(`testing.break.${index}`, sql));
        for (const named of [undefined, "delegation:ben-hr"]) {
          if (named !== undefined && more.agentId !== undefined) continue;
          assert.equal(
            await refused(reserve(inside, wholeGraph, ask({ delegationId: named, ...more }))),
            expected,
            `${name} (${named ?? "any"})`,
          );
        }
        throw new Error("undo");
      });
    };
    await assert.rejects(trial, /^Error: undo$/, name);
  }
  assert.equal(
    await refused(reserve(database, scopeOfTenant("tenant:globex"), ask())),
    "409 delegation_inactive",
    "no tenant sees another's",
  );
  assert.deepEqual(await world.sql("select * from membership.reservation"), []);
  assert.deepEqual(await meter(database), { used: 0, held: 0, usedSteps: 0, heldSteps: 0 });
});

forEachDatabase("without a named delegation the one that ends soonest and has room pays", graphModules, async (_t, database) => {
  const world = await graphWorld(database);
  const copy = (id: string, ends: string, steps: number): string => `
    with e as (insert into membership.edge (id, kind, src, dst, discr, tenant_id)
        values ('${id}', 'DELEGATES_TO', 'person:ben', 'agent:hr-assistant', '${id}', 'tenant:acme')),
      d as (insert into membership.delegation (id, delegator_id, agent_id, tenant_id, path, status, purpose, valid_from, expires_at, created_by)
        values ('${id}', 'person:ben', 'agent:hr-assistant', 'tenant:acme', array['${id}'], 'active', 'test', now(), ${ends}, 'person:ben'))
    insert into membership.meter (delegation_id, limit_micro, limit_steps) values ('${id}', 1000000, ${steps})`;
  await world.sql(copy("delegation:soon", "now() + interval '1 hour'", 1));
  await world.sql(copy("delegation:never", "null", 1));
  const paid: string[] = [];
  for (const steps of [1, 1, 1, 48, 1]) paid.push((await reserve(database, wholeGraph, ask({ steps }))).reply.delegation_id);
  assert.deepEqual(paid, ["delegation:soon", "delegation:ben-hr", "delegation:ben-hr", "delegation:ben-hr", "delegation:never"]);
  assert.equal(await refused(reserve(database, wholeGraph, ask())), "409 steps_exhausted");
});

forEachDatabase("a ledger is of its tenant: foreign reservations are as if they were not", graphModules, async (_t, database) => {
  await graphWorld(database);
  const globex = scopeOfTenant("tenant:globex");
  const { reply } = await reserve(database, wholeGraph, ask({ callId: "mine" }));
  for (const id of [reply.reservation_id, crypto.randomUUID()]) {
    assert.equal(await refused(settle(database, globex, id, { steps: 1, micro: 0n, outcome: "ok" })), "404 not_found");
    assert.equal(await refused(release(database, globex, id)), "404 not_found");
    assert.equal(await refused(extend(database, globex, id, 60)), "404 not_found");
  }
  assert.equal(await findByCall(database, globex, "mine"), null);
  assert.equal((await findByCall(database, wholeGraph, "mine"))?.state, "held");
  assert.deepEqual((await readSpend(database, globex, "person:ben")).by_delegation, []);
  await settle(database, wholeGraph, reply.reservation_id, { steps: 1, micro: 1000n, outcome: "ok" });
  assert.deepEqual(await readSpend(database, wholeGraph, "person:ben"), {
    settled_usd: 0.001,
    held_usd: 0,
    steps: 1,
    by_delegation: [{ delegation_id: "delegation:ben-hr", settled_usd: 0.001, held_usd: 0, steps: 1 }],
  });
  assert.deepEqual((await readUsage(database, wholeGraph, "delegation:ben-hr")).by_tool, [
    { tool_id: GET, calls: 1, steps: 1, usd: 0.001 },
  ]);
  assert.deepEqual(
    (await readUsage(database, wholeGraph, "delegation:ben-hr", "2001-01-01T00:00:00Z", "2002-01-01T00:00:00Z")).by_tool,
    [],
  );
});

forEachDatabase(
  "240 reserves at once on 50 steps hold exactly 50, and one call id holds once",
  graphModules,
  async (_t, database, { second }) => {
    await graphWorld(database);
    const other = second === undefined ? database : await second();
    const results = await Promise.all(
      Array.from({ length: 240 }, (_none, index) =>
        refused(reserve(index % 2 === 0 ? database : other, wholeGraph, ask({ callId: `call-${index}` }))),
      ),
    );
    assert.equal(results.filter((result) => result === "done").length, 50);
    assert.equal(results.filter((result) => result === "409 steps_exhausted").length, 190);
    assert.deepEqual(await meter(database), { used: 0, held: 100_000, usedSteps: 0, heldSteps: 50 });
    await sumsHold(database);
  },
);

forEachDatabase("40 reserves of one call id at once get one reservation", graphModules, async (_t, database, { second }) => {
  await graphWorld(database);
  const other = second === undefined ? database : await second();
  const same = ask({ callId: "once" });
  const replies = await Promise.all(
    Array.from({ length: 40 }, (_none, index) => reserve(index % 2 === 0 ? database : other, wholeGraph, same)),
  );
  assert.equal(new Set(replies.map(({ reply }) => JSON.stringify(reply))).size, 1);
  assert.equal(replies.filter(({ isNew }) => isNew).length, 1);
  assert.deepEqual(await meter(database), { used: 0, held: 2000, usedSteps: 0, heldSteps: 1 });
});

forEachDatabase(
  "after a revocation's commit no reserve succeeds, and none is lost before it",
  graphModules,
  async (_t, database, { second }) => {
    const world = await graphWorld(database);
    await world.sql("update membership.meter set limit_steps = 1000");
    const other = second === undefined ? database : await second();
    const REVOKE = statement(
      "testing.revoke",
      "update membership.delegation set status = 'revoked', ended_at = now() where id = 'delegation:ben-hr'",
    );
    let revoked = false;
    let late = 0;
    let done = 0;
    const caller = async (sql: Database): Promise<void> => {
      for (let call = 0; call < 40; call++) {
        const begunAfter = revoked;
        const result = await refused(reserve(sql, wholeGraph, ask()));
        if (result === "done") {
          done += 1;
          if (begunAfter) late += 1;
        } else assert.equal(result, "409 delegation_inactive");
      }
    };
    const callers = Array.from({ length: 8 }, (_none, index) => caller(index % 2 === 0 ? database : other));
    const revoke = (async () => {
      while (done < 20) await new Promise((resolve) => setImmediate(resolve));
      await other.run(REVOKE);
      revoked = true;
    })();
    await Promise.all([...callers, revoke]);
    assert.equal(late, 0);
    assert.ok(done >= 20 && done < 320, `${done} before, none after`);
    assert.equal((await meter(database)).heldSteps, done);
    await sumsHold(database);
  },
);

forEachDatabase("settling, releasing, lapsing and reserving at once keep the sums", graphModules, async (_t, database, { second }) => {
  const world = await graphWorld(database);
  await world.sql("update membership.meter set limit_steps = 1000");
  const other = second === undefined ? database : await second();
  const one = async (index: number): Promise<void> => {
    const sql = index % 2 === 0 ? database : other;
    const { reply } = await reserve(sql, wholeGraph, ask({ micro: 1000n }));
    const id = reply.reservation_id;
    const close = (): Promise<unknown> =>
      index % 3 === 0
        ? release(other, wholeGraph, id)
        : settle(other, wholeGraph, id, { steps: 1, micro: BigInt(index), outcome: index % 3 === 1 ? "ok" : "unknown" });
    await Promise.all([close(), close()]);
  };
  await Promise.all(Array.from({ length: 60 }, (_none, index) => one(index)));
  await sumsHold(database);
  const after = await meter(database);
  assert.deepEqual([after.held, after.heldSteps, after.usedSteps], [0, 0, 40]);
});

test("no sequence of reserve, settle, release, extend and lapse breaks the sums or spends what is not there", async (t) => {
  const database = await testDatabase(t, graphModules);
  const world = await graphWorld(database);
  const step = fc.oneof(
    fc.record({
      op: fc.constant("reserve" as const),
      steps: fc.integer({ min: 1, max: 20 }),
      micro: fc.bigInt({ min: 0n, max: 3_000_000n }),
    }),
    fc.record({
      op: fc.constant("settle" as const),
      at: fc.nat(20),
      steps: fc.nat(30),
      micro: fc.bigInt({ min: 0n, max: 4_000_000n }),
      outcome: fc.constantFrom("ok" as const, "failed" as const, "unknown" as const),
    }),
    fc.record({ op: fc.constantFrom("release" as const, "extend" as const), at: fc.nat(20) }),
    fc.record({ op: fc.constant("lapse" as const), at: fc.nat(20) }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
      await world.sql("truncate membership.reservation cascade");
      await world.sql("update membership.meter set used_steps = 0, held_steps = 0, used_micro = 0, held_micro = 0");
      const ids: string[] = [];
      const idAt = (at: number): string => ids[at % Math.max(ids.length, 1)] ?? crypto.randomUUID();
      for (const one of steps) {
        const work =
          one.op === "reserve"
            ? reserve(database, wholeGraph, ask({ steps: one.steps, micro: one.micro })).then(({ reply }) => ids.push(reply.reservation_id))
            : one.op === "settle"
              ? settle(database, wholeGraph, idAt(one.at), one)
              : one.op === "release"
                ? release(database, wholeGraph, idAt(one.at))
                : one.op === "extend"
                  ? extend(database, wholeGraph, idAt(one.at), 600)
                  : world
                      .sql(`update membership.reservation set ends_at = now() - interval '1 minute' where id = '${idAt(one.at)}'`)
                      .then(() => lapseOne(database));
        const result = await refused(work);
        assert.match(result, /^(?:done|404 not_found|409 (?:steps_exhausted|budget_exhausted|reservation_closed))$/);
      }
      await sumsHold(database);
    }),
    { numRuns: 60 },
  );
});

forEachDatabase(
  "what a dead process held and never began is given back; what was held since the start is not",
  graphModules,
  async (_t, database) => {
    await graphWorld(database);
    const clock = statement<{ now: string }>("testing.clock", "select clock_timestamp() as now");
    await reserve(database, wholeGraph, ask({ callId: "dead" }));
    const [start] = await database.run(clock);
    assert.ok(start);
    // The clock's text has milliseconds only.
    await new Promise((resolve) => setTimeout(resolve, 5));
    await reserve(database, wholeGraph, ask({ callId: "alive" }));
    const before = new Date(Date.parse(start.now) + 2).toISOString();
    assert.equal(await releaseAbandoned(database, before), 1);
    assert.equal((await findByCall(database, wholeGraph, "dead"))?.state, "released");
    assert.equal((await findByCall(database, wholeGraph, "alive"))?.state, "held");
    assert.deepEqual(await meter(database), { used: 0, held: 2_000, usedSteps: 0, heldSteps: 1 });
    assert.equal(await releaseAbandoned(database, before), 0);
    await sumsHold(database);
  },
);

forEachDatabase(
  "a meter that differs from its reservations holds nothing more until they agree; all else goes on",
  graphModules,
  async (t, database) => {
    const world = await graphWorld(database);
    const kept = await reserve(database, wholeGraph, ask());
    for (const [what, spoil, mend] of [
      ["money used", "used_micro = used_micro + 1", "used_micro = used_micro - 1"],
      ["steps used", "used_steps = used_steps + 1", "used_steps = used_steps - 1"],
      ["money held", "held_micro = held_micro + 1", "held_micro = held_micro - 1"],
      ["steps held", "held_steps = held_steps + 1", "held_steps = held_steps - 1"],
      ["money handed on", "lent_micro = lent_micro + 1", "lent_micro = lent_micro - 1"],
      ["steps handed on", "lent_steps = lent_steps + 1", "lent_steps = lent_steps - 1"],
    ] as const) {
      const set = (to: string) => world.sql(`update membership.meter set ${to} where delegation_id = 'delegation:ben-hr'`);
      await set(spoil);
      const said: unknown[] = [];
      const log = { ...silentLog, error: (...line: unknown[]) => void said.push(line), info: (...line: unknown[]) => void said.push(line) };
      await checkLedger({ database, log });
      assert.deepEqual(said, [["ledger_inconsistent", { delegation_id: "delegation:ben-hr" }]], what);
      assert.equal(await refused(reserve(database, wholeGraph, ask())), "503 ledger_inconsistent", what);
      const other = await reserve(database, wholeGraph, ask({ userId: "person:cleo", agentId: "agent:reporter", toolId: LIST }));
      await release(database, wholeGraph, other.reply.reservation_id);
      await set(mend);
      await checkLedger({ database, log });
      assert.deepEqual(said.slice(1), [["ledger_consistent", { delegation_id: "delegation:ben-hr" }]], what);
      assert.equal(await refused(reserve(database, wholeGraph, ask())), "done", what);
    }
    await world.sql("update membership.meter set used_steps = used_steps + 1 where delegation_id = 'delegation:ben-hr'");
    const served = await servedWorld(t, database);
    for (let waited = 0; (await database.run(WRONG)).length === 0 && waited < 200; waited++) await sleep(25);
    const body = { call_id: "after-start", user_id: "person:ben", agent_id: "agent:hr-assistant", tool_id: GET, usd: 0 };
    const reply = await served.call("service:crud", "POST", "/api/v1/delegations/reservations", { body });
    assert.deepEqual([reply.status, reply.body.code], [503, "ledger_inconsistent"], "found at the start");
    assert.equal((await settle(database, wholeGraph, kept.reply.reservation_id, { steps: 1, micro: 1n, outcome: "ok" })).charged_steps, 1);
    assert.equal((await served.call("ben", "GET", "/api/v1/delegations/delegation:ben-hr")).status, 200);
  },
);
