import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";
import { statement } from "#store/database.ts";
import { silentLog } from "#telemetry/log.ts";
import { cleanUp } from "#testing/clean-up.ts";
import { crudInstance } from "#testing/crud-instance.ts";
import { testAudiences } from "#testing/identity.ts";
import { membershipPeer } from "#testing/membership-double.ts";
import type { Settlement } from "#crud/tools/tool-call.ts";
import { createSettlements } from "./settlements.ts";

const ROWS = statement<{ usd_micro: bigint; outcome: string; attempts: number }>(
  "t.settlements",
  "select usd_micro, outcome, attempts from crud.settlement order by call_id",
);
const DUE = statement("t.settlements_due", "update crud.settlement set next_at = now() - interval '1 second'");

test("a charge outlives the process that made it, and is delivered once membership answers", async (t) => {
  const instance = await crudInstance(t);
  const { database, membership, identity } = instance;
  const open = () => {
    const settlements = createSettlements({
      database,
      membership: membershipPeer(membership, []),
      membershipAudience: testAudiences.membership,
      identity: identity.identityOf("crud"),
      log: silentLog,
    });
    cleanUp(t, () => settlements[Symbol.asyncDispose]());
    return settlements;
  };
  const charge = (more: Partial<Settlement> = {}): Settlement => {
    const callId = randomUUID();
    return { callId, reservationId: `r-${callId}`, micro: 10_000n, steps: 1, outcome: "ok", correlationId: "c", ...more };
  };
  const hold = ({ callId, reservationId }: Settlement): void =>
    void membership.reservations.set(callId, { id: reservationId, usd: 0.02, steps: 1, state: "held" });

  const first = open();
  const [direct, stored, released] = [charge(), charge({ micro: 1n }), charge({ micro: 0n, steps: 0, outcome: "released" })];
  [direct, stored, released].forEach(hold);
  membership.isDown = true;
  assert.equal(await first.settle(direct), "pending");
  await database.transaction(async (sql) => first.post(sql, stored));
  await database.transaction(async (sql) => first.post(sql, released));
  await first.deliverStored(stored);
  assert.equal((await database.run(ROWS)).length, 3);

  await first[Symbol.asyncDispose]();
  membership.isDown = false;
  await database.run(DUE);
  const second = open();
  await second.deliverDue();
  assert.deepEqual(await database.run(ROWS), []);
  assert.deepEqual(
    membership.settled.map(({ id, usd, outcome }) => [id, usd, outcome]).toSorted(),
    [
      [direct.reservationId, 0.01, "ok"],
      [stored.reservationId, 0.000001, "ok"],
    ].toSorted(),
  );
  assert.deepEqual(membership.released, [released.reservationId]);
});
